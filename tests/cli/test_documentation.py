"""Every command and option is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hack.docs import reference
from pilotage import cli
from tests.cli.commands import COMMANDS

DOCS = Path(__file__).parents[2] / "docs"
GUIDE = (DOCS / "cli.md").read_text()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_guide_names_every_command(name: str) -> None:
    assert re.search(rf"(?m)^## {name}$|`{name}[ `]", GUIDE)


def test_the_guide_is_short() -> None:
    """Details are on the pages of their subjects, options in the reference."""
    assert len(GUIDE.encode()) <= 16_000


def test_the_reference_is_what_the_parser_has() -> None:
    assert (DOCS / "cli-reference.md").read_text() == reference.page(), "the parser has changed: run `make reference`"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["--zzz", "demo"], "pilotage"),
        (["serve", "--zzz"], "pilotage serve"),
        (["device", "--zzz", "get"], "pilotage device"),
        (["device", "serve", "--zzz"], "pilotage device serve"),
        (["crd", "a.py", "--zzz"], "pilotage crd"),
    ],
)
def test_a_wrong_option_is_an_error_of_its_own_command(
    words: list[str], command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as raised:
        cli.main(words)
    assert raised.value.code == 2
    assert capsys.readouterr().err == (
        f"{command}: error: unrecognized arguments: --zzz\nSee '{command} --help' for usage.\n"
    )
