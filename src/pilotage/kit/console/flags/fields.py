"""Flags that are the fields of a dataclass: each is declared once, with its type, its default and its help."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import field, fields
from typing import Any, TypeVar

T = TypeVar("T")
_NO_GROUPS: Mapping[str, str] = {}


def flag(metavar: str, about: str, default: Any = "", *, manager: bool = False, **how: Any) -> Any:
    """A flag with a value, or without one if `metavar` is empty. `manager`: it is an option of the manager, so it
    cannot be used with a target that is a manager."""
    if metavar:
        how["metavar"] = metavar
    return field(default=default, metadata={"manager": manager, "how": {"help": about, **how}})


def switch(about: str, *, default: bool | None = False, manager: bool = False) -> Any:
    """A flag with its opposite, `--no-…`, which wins over the environment variable."""
    how = {"action": argparse.BooleanOptionalAction, "help": about}
    return field(default=default, metadata={"manager": manager, "how": how})


def shared(
    add: Callable[[argparse._ActionsContainer], None] | None, *, default: str | None = "", manager: bool = True
) -> Any:
    """A flag that other commands have, too, which declare it with this function; None: with the flag before it."""
    return field(default=default, metadata={"manager": manager, "add": add})


def add_flags(parser: argparse.ArgumentParser, options: type[Any], groups: Mapping[str, str] = _NO_GROUPS) -> None:
    """Add the flags of a class, as None where they are not given. `groups` are the groups of the help, by their first
    flag; a flag may have a short form (`short="-f"`)."""
    group: argparse._ActionsContainer = parser
    for each in fields(options):
        if each.name in groups:
            group = parser.add_argument_group(groups[each.name])
        if "how" in each.metadata:
            how = dict(each.metadata["how"])
            short = [how.pop("short")] if "short" in how else []
            group.add_argument(*short, written(each.name), default=None, **how)
        elif (add := each.metadata.get("add")) is not None:
            add(group)


def options_of(options: type[T], namespace: argparse.Namespace) -> T:
    """The values of the flags that were given, and the defaults of the others."""
    given = {each.name: getattr(namespace, each.name, None) for each in fields(options)}  # type: ignore[arg-type]
    return options(**{name: value for name, value in given.items() if value is not None})


def written(name: str) -> str:
    """A flag on the command line: `--log-level` of `log_level`."""
    return f"--{name.replace('_', '-')}"
