"""Records a session of the inventory example as an SVG, on standard output: `python -m hack.pictures.session`."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (
    "inventory apply -f samples",
    "inventory get items,categories",
    "inventory patch item phone-456 --set spec.quantity=3",
    "inventory events",
    "inventory get items -o custom-columns=ITEM:.metadata.name,LEFT:.spec.quantity --sort-by=.spec.quantity",
    "inventory get item none",
)
COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "36": "#79c0ff", "2": "#8b949e"}
STYLE = re.compile(r"\x1b\[([0-9;]*)m")
CHARACTER, LINE, MARGIN = 8.4, 19, 16


def record() -> list[str]:
    """The lines of the terminal, with escape sequences."""
    shown: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "INVENTORY_STORAGE": f"sqlite:{folder}/inventory.db",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "examples" / "inventory")]),
            "CLICOLOR_FORCE": "1",
        }
        for line in LINES:
            command = [sys.executable, "-m", *shlex.split(line)]
            ran = subprocess.run(
                command,
                cwd=ROOT / "examples" / "inventory",
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            shown += [f"\x1b[36m$\x1b[0m {line}", *ran.stdout.splitlines(), ""]
    return shown[:-1]


def picture(lines: list[str]) -> str:
    """The lines as an SVG."""
    width = max(len(STYLE.sub("", line)) for line in lines) * CHARACTER + 2 * MARGIN
    height = len(lines) * LINE + 2 * MARGIN
    rows = [
        f'<text x="{MARGIN}" y="{MARGIN + LINE * number + 14}" xml:space="preserve">{_spans(line)}</text>'
        for number, line in enumerate(lines)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
            'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14" fill="#e6edf3">',
            '<rect width="100%" height="100%" rx="8" fill="#0d1117"/>',
            *rows,
            "</svg>",
        ]
    )


def _spans(line: str) -> str:
    found, colour = [], ""
    for number, part in enumerate(STYLE.split(line)):
        if number % 2:
            codes = part.split(";")
            colour = next((COLOURS[code] for code in codes if code in COLOURS), "")
        elif part:
            found.append(f'<tspan fill="{colour}">{escape(part)}</tspan>' if colour else escape(part))
    return "".join(found)


if __name__ == "__main__":
    print(picture(record()))
