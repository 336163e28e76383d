"""The tokens of a Go template: text between actions, and the words within them."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import NamedTuple

from pilotage.workloads.stages.templates.problems import TemplateProblem


class Token(NamedTuple):
    """A token. `spaced`: there is a space before it. A string is not decoded."""

    kind: str
    value: str
    line: int
    spaced: bool


_SPACE = " \t\r\n"
_WORD = re.compile(
    r"""(?P<field>\.[^\W\d]\w*)
    |(?P<variable>\$\w*)
    |(?P<number>[+-]?(?:0x[0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(?!\w))
    |(?P<string>"(?:[^"\\\n]|\\.)*"|`[^`]*`)
    |(?P<name>[^\W\d]\w*)
    |(?P<sign>:=|[.=|(),])""",
    re.VERBOSE,
)


def tokens(text: str) -> Iterator[Token]:
    """The tokens: `text`; between `open` and `close` the words of an action; `end`. Raises TemplateProblem."""
    position, line, trimmed = 0, 1, False
    while True:
        begin = text.find("{{", position)
        plain = text[position : begin if begin >= 0 else len(text)]
        shown = plain.lstrip(_SPACE) if trimmed else plain
        trims = begin >= 0 and text[begin + 2 : begin + 3] == "-" and text[begin + 3 : begin + 4] in tuple(_SPACE)
        shown = shown.rstrip(_SPACE) if trims else shown
        if shown:
            yield Token("text", shown, line, False)
        line += plain.count("\n")
        if begin < 0:
            break
        yield Token("open", "{{", line, False)
        inside = begin + (4 if trims else 2)
        line += text.count("\n", begin, inside)
        position, trimmed = yield from _action(text, inside, line)
        line += text.count("\n", inside, position)
        yield Token("close", "}}", line, False)
    yield Token("end", "", line, False)


def _action(text: str, position: int, line: int) -> Generator[Token, None, tuple[int, bool]]:
    """The words of an action. Returns the position after it, and whether it trims the text after it."""
    if text.startswith("/*", position):
        return _comment(text, position, line)
    spaced = False
    while True:
        if text.startswith("}}", position):
            return position + 2, False
        if text.startswith("-}}", position) and spaced:
            return position + 3, True
        if position >= len(text):
            raise TemplateProblem("unclosed action", line)
        if text[position] in _SPACE:
            line += text[position] == "\n"
            spaced, position = True, position + 1
            continue
        match = _WORD.match(text, position)
        if match is None:
            raise TemplateProblem(f"unexpected {text[position]!r} in an action", line)
        yield Token(match.lastgroup or "", match.group(), line, spaced)
        line += match.group().count("\n")
        spaced, position = False, match.end()


def _comment(text: str, position: int, line: int) -> tuple[int, bool]:
    end = text.find("*/", position + 2)
    if end < 0:
        raise TemplateProblem("unclosed comment", line)
    match = re.compile(r"[ \t\r\n]+-\}\}|\}\}").match(text, end + 2)
    if match is None:
        raise TemplateProblem("comment ends before closing delimiter", line)
    return match.end(), match.group() != "}}"
