"""The files and commands of a page, in their order."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(r"^```(\w+)(?: title=\"([^\"]+)\")?\n(.*?)^```", re.MULTILINE | re.DOTALL)
_CHANGING = (
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z"), "TIME"),
    (re.compile(r"(seconds=|in )[\d.]+"), r"\1N"),
    (re.compile(r"\b\d+s\b"), "Ns"),
    (re.compile(r"[ \t]+"), " "),
)


@dataclass(frozen=True)
class File:
    """A block with a title: the content of a file."""

    path: str
    content: str


@dataclass(frozen=True)
class Command:
    """A line of a console, and the lines that it shows. Others may come between them."""

    line: str
    shown: tuple[str, ...]


def steps(page: Path) -> Iterator[File | Command]:
    for language, title, content in _BLOCK.findall(page.read_text()):
        if title:
            yield File(title, content)
        elif language == "console":
            yield from _commands(content)


def missing(command: Command, output: str) -> list[str]:
    """The shown lines that the output does not have, in this order."""
    waiting = [masked(line) for line in command.shown]
    for line in map(masked, output.splitlines()):
        if waiting and waiting[0] == line:
            del waiting[0]
    return waiting


def masked(line: str) -> str:
    """A line without what changes from run to run."""
    for pattern, replacement in _CHANGING:
        line = pattern.sub(replacement, line)
    return line.strip()


def _commands(content: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", content, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        yield Command(line, tuple(filter(None, output.splitlines())))
