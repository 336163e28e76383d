"""The layout of paragraphs on a screen: a heading, words in a column, and texts that are wrapped beside it.

21:16:10 #3 greeting default/world
         because  Greeting default/world changed: spec.text: 'hello' → 'bye'
         wrote    patch ConfigMap default/world: data.text: 'hello' → 'bye'
         result   done in 0.61 ms
21:16:10 #4 greeting default/world because ConfigMap default/world was patched by #3 → wrote nothing (0.19 ms)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pilotage.history.narration.narrative import Heading
from pilotage.history.narration.narrator import Paragraph
from pilotage.history.text import Line

INDENT = 9
"""As wide as the time of day, so that words are below the number."""
_WORD = 9
_NARROWEST = 30
"""Columns of a text, however narrow the screen is."""

Styled = Callable[[str, str], str]
"""Gives a text the style of its role: a word such as `because`, or `at`, `number`, `controller`, `object`."""


def plain(text: str, role: str) -> str:
    return text


def laid_out(paragraph: Paragraph, columns: int = 0, styled: Styled = plain) -> Iterator[str]:
    """The lines of a paragraph. `columns` is the width of the screen; 0: lines are not wrapped."""
    if paragraph.is_brief and paragraph.heading is not None:
        head, text = _heading(paragraph.heading, styled), _brief(paragraph.lines, styled)
        width, room = len(_brief(paragraph.lines, plain)), columns - len(_heading(paragraph.heading, plain)) - 1
        if not columns or width <= room:
            yield f"{head} {text}"
            return
        if INDENT + width <= columns:
            yield head
            yield f"{' ' * INDENT}{text}"
            return
    if paragraph.heading is not None:
        yield _heading(paragraph.heading, styled)
    for line in paragraph.lines:
        yield from _line(line, columns, styled)


def _heading(heading: Heading, styled: Styled) -> str:
    parts = zip(heading, ("at", "number", "controller", "object"), strict=True)
    return " ".join(styled(text, role) for text, role in parts)


def _brief(lines: tuple[Line, ...], styled: Styled) -> str:
    *before, result = lines
    if not before:
        return styled(f"{result.word} {result.text}", result.word)
    parts = [f"{styled(line.word, line.word)} {line.text}" for line in before]
    return f"{', '.join(parts)} {styled('→', result.word)} {result.text}"


def _line(line: Line, columns: int, styled: Styled) -> Iterator[str]:
    shown = "" if line.word == "code" else line.word
    first = f"{' ' * INDENT}{styled(shown, line.word)}{' ' * (_WORD - len(shown))}"
    room = max(columns - INDENT - _WORD, _NARROWEST) if columns else 0
    for text in _wrapped(line.text, room):
        yield f"{first}{_text(line, text, styled)}".rstrip()
        first = " " * (INDENT + _WORD)


def _text(line: Line, text: str, styled: Styled) -> str:
    """The text of an error, and of code, has the style of its word."""
    return styled(text, line.word) if line.word in ("error", "code") else text


def _wrapped(text: str, room: int) -> Iterator[str]:
    """The text in pieces that fit, broken at spaces; a longer word is broken anywhere."""
    while room and len(text) > room:
        end = text.rfind(" ", 1, room + 1)
        end = end if end > 0 else room
        yield text[:end]
        text = text[end:].removeprefix(" ")
    yield text
