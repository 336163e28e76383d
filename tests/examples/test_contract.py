"""The programs that are promised to run unchanged: only their last lines are our own.

Those lines keep an import from running the program, and print an error of Pilotage in one line.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
GIVEN = {
    "basic_client.py": "f6d9ece74a42a57c37026f6b7e4ca2b9a534a09441051f7307609b97891d0c10",
    "controller_shim.py": "8a3500cc76eb300e7be0c0ab99423ba4467b7f6a450c6acb6c34389b8b841c8a",
    "conversion.py": "4b4d33b1f2b1b981e0fdad32cad5a07d256e06bebcb1b605d788c3672f6632fc",
    "database.py": "4e2ecbbca240b28b541d91f3a2e7ff2e5a65c6736d4beb99bc81e7f074b16bc9",
    "informers.py": "68f0ce9f8a7cbc8b8d88b5f772165adbdfc61e88cbe2f37a89c2048ea23901b3",
    "unknown_fields.py": "6b214689e6d047dcb3e143c8e08b587c9e1ae327564a6c0834b8c767e5d0a934",
    "webhooks.py": "2af7477b1a8a3b844da4074db3f6cb9bd391ca46e8615e523fe610e056f59816",
}
ENDING = re.compile(
    r"""if __name__ == "__main__":\n((?:    .*\n)*)    try:\n        (.*\n)"""
    r"""    except pt\.PilotageError as error:\n        raise SystemExit\(f"\w+: \{error\}"\) from None\n\Z"""
)


@pytest.mark.parametrize("name", GIVEN)
def test_a_contract_program_stands_as_it_was_given_but_for_its_last_lines(name: str) -> None:
    found = ENDING.search(text := (EXAMPLES / name).read_text())
    assert found is not None
    plain = found[1].replace("    ", "", 1) + found[2]
    guarded = f'if __name__ == "__main__":\n{found[1]}    {found[2]}'
    given = {hashlib.sha256((text[: found.start()] + ending).encode()).hexdigest() for ending in (plain, guarded)}
    assert GIVEN[name] in given


def test_the_contract_tool_stands_as_it_was_given() -> None:
    given = "714cf4aba6e4d8204ea2e47ced1c6074e350a093a1e52269def910cb9be29dc1"
    assert hashlib.sha256((EXAMPLES / "todo.py").read_bytes()).hexdigest() == given
