"""Flags of commands: their types, those that are the fields of a dataclass, those that choose where a command works.

The functions here declare one flag each.
"""

from __future__ import annotations

import argparse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def add_value(
    group: argparse._ActionsContainer, flags: str, metavar: str | None, about: str, default: Any = "", **how: Any
) -> argparse.Action:
    """Add a flag with a value, as `-l --selector`. Without a metavar, its `choices` are shown. `how` are further
    options of argparse."""
    return group.add_argument(*flags.split(), default=default, metavar=metavar, help=about, **how)


def add_path(group: argparse._ActionsContainer, flags: str, metavar: str, about: str) -> argparse.Action:
    """Add a flag whose value is a file or a folder; None if it is not given."""
    from pathlib import Path  # light commands, whose flags are declared here too, do not load it

    return add_value(group, flags, metavar, about, None, type=Path)


def add_values(
    group: argparse._ActionsContainer, flags: str, metavar: str | None, about: str, **how: Any
) -> argparse.Action:
    """Add a flag with a value that may be repeated: a list, which is empty if it is not given."""
    return group.add_argument(*flags.split(), action="append", default=[], metavar=metavar, help=about, **how)


def add_switch(
    group: argparse._ActionsContainer, flags: str, about: str, default: bool | None = False
) -> argparse.Action:
    """Add a flag without a value."""
    return group.add_argument(*flags.split(), action="store_true", default=default, help=about)
