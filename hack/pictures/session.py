"""Records a session of the inventory example in a terminal, as an animated SVG: `make pictures`.

The example is installed with pip, and a shell under tmux runs its commands. The picture shows what the terminal showed,
in its colours, with the time that each command took, up to a second. A viewer without animations shows the end of the
session.
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
from hack.pictures.terminal import PROMPT, terminal

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
COLUMNS, ROWS = 96, 48
SECONDS_A_KEY, PAUSE, LONGEST = 0.03, 0.7, 1.0
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "2": "#8b949e"}
BOLD, PLAIN = "1", ("", "0")
STYLE = re.compile(r"\x1b\[([0-9;]*)m")
CHARACTER, LINE, MARGIN, BAR = 8.43, 20, 18, 34


@dataclass(frozen=True)
class Step:
    """A command line, the seconds that it took, and the lines that it printed: as elements of SVG."""

    line: str
    seconds: float
    printed: list[str]


def record() -> list[Step]:
    """Run the session, and what each command line showed."""
    steps: list[Step] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        commands = install(folder / "environment")
        environment = {"PATH": f"{commands}:/usr/bin:/bin", "HOME": name}
        (folder / "samples").symlink_to(EXAMPLE / "samples")
        with terminal(folder, environment, (COLUMNS, ROWS)) as pane:
            first = 0
            for line in LINES:
                started = time.monotonic()
                pane.run(line)
                seconds = time.monotonic() - started
                screen = _elements(pane.screen(colours=True))
                end = len(screen) - (screen[-1].strip() == PROMPT.strip())  # the next prompt may be there already
                steps.append(Step(line, seconds, screen[first + 1 : end]))
                first = end
    return steps


def picture(steps: list[Step]) -> str:
    """The session as an SVG."""
    rows: list[str] = []
    at, number = 0.5, 0
    for step in steps:
        typing = len(step.line) * SECONDS_A_KEY
        rows.append(_typed(step.line, number, at, typing))
        number += 1
        at += typing + min(step.seconds, LONGEST)
        rows += [_text(line, number + offset, at) for offset, line in enumerate(step.printed)]
        number += len(step.printed)
        at += PAUSE
    width, height = COLUMNS * CHARACTER + 2 * MARGIN, number * LINE + BAR + 2 * MARGIN
    return "\n".join([*_head(width, height), *rows, "</svg>", ""])


def _head(width: float, height: float) -> list[str]:
    dots = zip(("#ff5f56", "#ffbd2e", "#27c93f"), (20, 40, 60), strict=True)
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        "font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" "
        'font-size="14" fill="#e6edf3">',
        "<title>A session of the inventory example in a terminal</title>",
        "<style>",
        "@media (prefers-reduced-motion: no-preference) {",
        "  .line { opacity: 0; animation: show 0.01s linear forwards }",
        "  .key { opacity: 0; animation: show 0.01s linear forwards }",
        "}",
        "@keyframes show { to { opacity: 1 } }",
        "</style>",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="10" fill="#0d1117"/>',
        f'<path d="M0 {BAR}V10a10 10 0 0 1 10 -10H{width - 10:.0f}a10 10 0 0 1 10 10V{BAR}Z" fill="#21262d"/>',
        *(f'<circle cx="{x}" cy="{BAR / 2:.0f}" r="6" fill="{colour}"/>' for colour, x in dots),
        f'<text x="{width / 2:.0f}" y="{BAR / 2 + 5:.0f}" text-anchor="middle" fill="#8b949e">inventory</text>',
    ]


def _typed(line: str, number: int, at: float, seconds: float) -> str:
    """A command line: the prompt, then a word after the other, as it is typed."""
    words = re.findall(r"\S+\s*", line)
    parts, position = [], 0
    for word in words:
        position += len(word)
        parts.append(_span(word, "key", at + seconds * position / len(line)))
    return _text(f'<tspan fill="{COLOURS["36"]}">{PROMPT}</tspan>{"".join(parts)}', number, max(at - PAUSE, 0))


def _span(text: str, name: str, at: float) -> str:
    return f'<tspan class="{name}" style="animation-delay:{at:.2f}s">{escape(text)}</tspan>'


def _text(content: str, number: int, at: float) -> str:
    y = BAR + MARGIN + LINE * number + 12
    return (
        f'<text class="line" style="animation-delay:{at:.2f}s" x="{MARGIN}" y="{y}" xml:space="preserve">'
        f"{content}</text>"
    )


def _elements(screen: str) -> list[str]:
    """The lines of a screen as elements of SVG. A style goes on until another one, also over the end of a line."""
    found = [""]
    colour, weight = "", ""
    for number, part in enumerate(STYLE.split(screen.rstrip("\n"))):
        if number % 2:
            for code in part.split(";"):
                colour = "" if code in (*PLAIN, "39") else COLOURS.get(code, colour)
                weight = "bold" if code == BOLD else "" if code in (*PLAIN, "22") else weight
            continue
        style = f' fill="{colour}"' * bool(colour) + f' font-weight="{weight}"' * bool(weight)
        for index, text in enumerate(part.split("\n")):
            found += [""] * bool(index)
            if text:
                found[-1] += f"<tspan{style}>{escape(text)}</tspan>" if style else escape(text)
    return found


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(record()), encoding="utf-8")
