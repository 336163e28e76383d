"""Lines of Python as `ruff format` writes them, whatever the length of the names in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 100
"""The line length of a project, which its pyproject.toml sets."""


def bracketed(opening: str, parts: Sequence[str], closing: str, indent: int = 0) -> str:
    """A call, a signature or an import: on one line if it fits, else the parts on one line, else one to a line."""
    margin = " " * indent
    one = f"{margin}{opening}{', '.join(parts)}{closing}"
    if len(one) <= WIDTH:
        return one
    inner = f"{margin}    {', '.join(parts)}"
    if len(inner) <= WIDTH and not opening.startswith("from "):
        return f"{margin}{opening}\n{inner}\n{margin}{closing}"
    each = "".join(f"{margin}    {part},\n" for part in parts)
    return f"{margin}{opening}\n{each}{margin}{closing}"


@dataclass(frozen=True, slots=True, order=True)
class Import:
    """`from module import name as alias  # comment`."""

    module: str
    name: str
    alias: str = ""
    comment: str = ""

    @property
    def line(self) -> str:
        """The statement, in parentheses if it is too long."""
        imported = f"{self.name} as {self.alias}" if self.alias else self.name
        line = f"from {self.module} import {imported}"
        if len(line) > WIDTH:
            line = f"from {self.module} import (\n    {imported},\n)"
        return f"{line}  # {self.comment}" if self.comment else line


def sections(*groups: Sequence[str]) -> str:
    """Imports in groups, with an empty line between the groups and a newline at the end."""
    return "\n\n".join("\n".join(group) for group in groups if group) + "\n"


def imports(module: str, names: Sequence[str]) -> str:
    """`from module import a, b`, sorted as isort does it: constants, classes, functions."""
    ordered = sorted(set(names), key=lambda name: (not name.isupper(), not name[:1].isupper(), name))
    line = f"from {module} import {', '.join(ordered)}"
    return line if len(line) <= WIDTH else bracketed(f"from {module} import (", ordered, ")")
