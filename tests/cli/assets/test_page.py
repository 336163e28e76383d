"""What docs/howto/envtest.md says of the launchers."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilotage.cli import main
from pilotage.cli.assets.flags import EFFECTIVE

PAGE = (Path(__file__).parents[3] / "docs" / "howto" / "envtest.md").read_text()


def test_the_page_shows_what_the_command_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shown = PAGE.partition("$ pilotage assets .envtest\n")[2].partition("$ ")[0]
    assert main(["assets", ".envtest"]) == 0
    assert capsys.readouterr().out.startswith(shown)


@pytest.mark.parametrize("name", EFFECTIVE)
def test_the_page_names_every_flag_with_an_effect(name: str) -> None:
    assert f"`--{name}`" in PAGE or (name.startswith("audit-") and "those of the audit log" in PAGE)
