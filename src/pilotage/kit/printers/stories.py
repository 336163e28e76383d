"""Answers of `why` as text for a terminal: names and values of objects are other people's text, and are escaped."""

from __future__ import annotations

from pilotage.history.text import Line
from pilotage.history.why.answer import Answer
from pilotage.history.why.text import answer_lines
from pilotage.kit.console.terminal import BOLD, CYAN, DIM, GREEN, RED, YELLOW, Terminal
from pilotage.kit.printers.table import escaped

_STYLES = {
    "because": (CYAN,),
    "and": (CYAN,),
    "wrote": (GREEN,),
    "read": (DIM,),
    "log": (DIM,),
    "result": (DIM,),
    "now": (YELLOW,),
}


def answer_text(answer: Answer, terminal: Terminal) -> str:
    """The lines of an answer, each with the word that says what it is in its colour."""
    return "".join(f"{_text(line, terminal)}\n" for line in answer_lines(answer))


def _text(line: Line, terminal: Terminal) -> str:
    text = escaped(str(line))
    if not line.word:
        return terminal.styled(text, BOLD)
    style = (RED,) if line.word == "result" and line.text.startswith("error") else _STYLES.get(line.word, ())
    return terminal.accented(text, *style)
