"""Records sessions in a terminal as animated SVGs: the demo, and the inventory example. `make pictures` calls it.

Pilotage and the example are installed with pip, and a shell under tmux runs the commands. A picture shows what the
terminal showed, in its colours, with the time that each command took, up to a second. A viewer without animations shows
the end of the session.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from dataclasses import dataclass
from html import escape
from pathlib import Path

from hack.pictures.installed import EXAMPLE, install
from hack.pictures.screen import COLOURS, elements, text, window
from hack.pictures.terminal import PROMPT, terminal


@dataclass(frozen=True)
class Session:
    """Command lines, and the size of the terminal that they are typed into."""

    title: str
    lines: tuple[str, ...]
    columns: int
    rows: int
    seconds_a_line: float = 0.0
    """Between two printed lines."""


DEMO = Session("pilotage demo", ("pilotage demo --once",), columns=120, rows=120, seconds_a_line=0.15)
LINES = (
    "inventory apply -f samples",
    "inventory get items",
    "inventory patch item phone-456 --set spec.quantity=3",
    "inventory get categories -o wide",
    "inventory events",
    "inventory wait item/phone-456 --for=condition=LowStock",
    "inventory get item phne-456",
    "echo exit code $?",
    "inventory create item thing --set spec.name=Thing --set spec.quantity=-1",
)
INVENTORY = Session("inventory", LINES, columns=96, rows=48)
SECONDS_A_KEY, PAUSE, LONGEST = 0.03, 0.7, 1.0
ANIMATION = """<style>
@media (prefers-reduced-motion: no-preference) {
  .line { opacity: 0; animation: show 0.01s linear forwards }
  .key { opacity: 0; animation: show 0.01s linear forwards }
}
@keyframes show { to { opacity: 1 } }
</style>"""


@dataclass(frozen=True)
class Step:
    """A command line, the seconds that it took, and the lines that it printed: as elements of SVG."""

    line: str
    seconds: float
    printed: list[str]


def record(session: Session) -> list[Step]:
    """Run a session, and return what each command line showed."""
    steps: list[Step] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = install(folder / "environment")
        environment = {"PATH": f"{commands}:/usr/bin:/bin", "HOME": name}
        (folder / "samples").symlink_to(EXAMPLE / "samples")
        with terminal(folder, environment, (session.columns, session.rows)) as pane:
            first = 0
            for line in session.lines:
                started = time.monotonic()
                pane.run(line)
                seconds = time.monotonic() - started
                screen = elements(pane.screen(colours=True).replace(name, "~"))
                end = len(screen) - (screen[-1].strip() == PROMPT.strip())  # the next prompt may be there already
                steps.append(Step(line, seconds, screen[first + 1 : end]))
                first = end
    return steps


def picture(session: Session, steps: list[Step]) -> str:
    """A session as an SVG."""
    rows: list[str] = []
    at, number = 0.5, 0
    for step in steps:
        typing = len(step.line) * SECONDS_A_KEY
        rows.append(_typed(step.line, number, at, typing))
        number += 1
        at += typing + min(step.seconds, LONGEST)
        for line in step.printed:
            rows.append(_text(line, number, at))
            number += 1
            at += session.seconds_a_line
        at += PAUSE
    about = f"A session of {session.title} in a terminal"
    return "\n".join([*window(session.title, about, session.columns, number), ANIMATION, *rows, "</svg>", ""])


def _typed(line: str, number: int, at: float, seconds: float) -> str:
    """A command line: the prompt, then a word after the other, as it is typed."""
    words = re.findall(r"\S+\s*", line)
    parts, position = [], 0
    for word in words:
        position += len(word)
        parts.append(_span(word, "key", at + seconds * position / len(line)))
    return _text(f'<tspan fill="{COLOURS["36"]}">{PROMPT}</tspan>{"".join(parts)}', number, max(at - PAUSE, 0))


def _text(content: str, number: int, at: float) -> str:
    return text(content, number, f'class="line" style="animation-delay:{at:.2f}s"')


def _span(word: str, name: str, at: float) -> str:
    return f'<tspan class="{name}" style="animation-delay:{at:.2f}s">{escape(word)}</tspan>'


if __name__ == "__main__":
    for session, file in ((DEMO, sys.argv[1]), (INVENTORY, sys.argv[2])):
        Path(file).write_text(picture(session, record(session)), encoding="utf-8")
