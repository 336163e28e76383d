"""The commands of the page about deploying work on its program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pilotage import cli

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "deploy.md").read_text()

pytestmark = pytest.mark.usefixtures("own_imports")


def test_the_page_writes_the_manifests_of_its_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    [program] = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "greetings.py").write_text(program)
    [command] = re.findall(r"^\$ pilotage (.*)$", PAGE, re.MULTILINE)
    assert cli.main(command.split()) == 0
    paths = re.findall(r"deploy/[\w/.-]+", PAGE)
    assert {"deploy/install.yaml", "deploy/overlays/production", "deploy/chart"} <= set(paths)
    assert [path for path in paths if not Path(path).exists()] == []
    for component in re.findall(r"`\.\./\.\./(components/[\w-]+)`", PAGE):
        assert Path("deploy", component, "kustomization.yaml").is_file()
