"""Every command and option is documented in docs/cli.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilotage import cli
from tests.cli.commands import COMMANDS

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_its_heading(name: str) -> None:
    assert f"\n## {name}\n" in PAGE


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_of_a_command_is_described(name: str) -> None:
    section = PAGE.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    options = [option for action in COMMANDS[name]._actions for option in action.option_strings if option != "--help"]
    assert [option for option in options if option.startswith("--") and f"`{option}" not in section] == []


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["--nope", "demo"], "pilotage"),
        (["serve", "--nope"], "pilotage serve"),
        (["device", "--nope", "get"], "pilotage device"),
        (["device", "serve", "--nope"], "pilotage device serve"),
        (["crd", "a.py", "--nope"], "pilotage crd"),
    ],
)
def test_a_wrong_option_is_an_error_of_its_own_command(
    words: list[str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        cli.main(words)
    assert raised.value.code == 2
    assert capsys.readouterr().err == (
        f"{command}: error: unrecognized arguments: --nope\nSee '{command} --help' for usage.\n"
    )
