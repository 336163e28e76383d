"""The page about permissions shows what the command prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pilotage import cli

pytestmark = pytest.mark.usefixtures("own_imports")

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "permissions.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def test_the_page_shows_the_roles_of_its_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "greetings.py").write_text(block("python"))
    command = "rbac greetings.py --no-leader-elect"
    assert f"`pilotage {command}`" in PAGE
    assert cli.main(command.split()) == 0
    assert capsys.readouterr().out == block("yaml")
    assert cli.main([*command.split(), "--explain"]) == 0
    assert capsys.readouterr().out == block("text")
