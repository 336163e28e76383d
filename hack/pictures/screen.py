"""A terminal's screen as an SVG: a window with a title, and lines of text in the colours of the terminal."""

from __future__ import annotations

import re
from html import escape

COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#a5b4fc", "35": "#d2a8ff", "36": "#79c0ff"}
DIM_COLOUR = "#8b949e"
BOLD, DIM, PLAIN = "1", "2", ("", "0")
STYLE = re.compile(r"\x1b\[([0-9;]*)m")
CHARACTER, LINE, MARGIN, BAR = 8.43, 20, 18, 34


def window(title: str, about: str, columns: int, lines: int) -> list[str]:
    """The begin of a picture of so many columns and lines. `about` is for screen readers."""
    width, height = columns * CHARACTER + 2 * MARGIN, lines * LINE + BAR + 2 * MARGIN
    dots = zip(("#ff5f56", "#ffbd2e", "#27c93f"), (20, 40, 60), strict=True)
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
        "font-family=\"ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace\" "
        'font-size="14" fill="#e6edf3">',
        f"<title>{escape(about)}</title>",
        f'<rect width="{width:.0f}" height="{height:.0f}" rx="10" fill="#0d1117"/>',
        f'<path d="M0 {BAR}V10a10 10 0 0 1 10 -10H{width - 10:.0f}a10 10 0 0 1 10 10V{BAR}Z" fill="#21262d"/>',
        *(f'<circle cx="{x}" cy="{BAR / 2:.0f}" r="6" fill="{colour}"/>' for colour, x in dots),
        f'<text x="{width / 2:.0f}" y="{BAR / 2 + 5:.0f}" text-anchor="middle" fill="#8b949e">{escape(title)}</text>',
    ]


def text(content: str, number: int, attributes: str = "") -> str:
    """A line."""
    y = BAR + MARGIN + LINE * number + 12
    return f'<text{attributes and " "}{attributes} x="{MARGIN}" y="{y}" xml:space="preserve">{content}</text>'


def elements(screen: str) -> list[str]:
    """The lines of a screen as elements of SVG. A style goes on until another one, also over the end of a line."""
    found = [""]
    colour, weight, dim = "", "", False
    for number, part in enumerate(STYLE.split(screen.rstrip("\n"))):
        if number % 2:
            for code in part.split(";"):
                colour = "" if code in (*PLAIN, "39") else COLOURS.get(code, colour)
                weight = "bold" if code == BOLD else "" if code in (*PLAIN, "22") else weight
                dim = code == DIM or (dim and code not in (*PLAIN, "22"))
            continue
        fill = colour or DIM_COLOUR * dim
        style = f' fill="{fill}"' * bool(fill) + f' font-weight="{weight}"' * bool(weight)
        for index, words in enumerate(part.split("\n")):
            found += [""] * bool(index)
            if words:
                found[-1] += f"<tspan{style}>{escape(words)}</tspan>" if style else escape(words)
    return found
