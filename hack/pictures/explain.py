"""Records what `pilotage run` shows on a terminal, as an SVG: `make pictures`.

The operator of docs/howto/run.md runs in a shell under tmux; instead of its log line, it has one that raises an error.
Another process changes its objects.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from html import escape
from pathlib import Path

from hack.pictures.screen import COLOURS, elements, text, window
from hack.pictures.terminal import PROMPT, Terminal, terminal

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "run.md"
FIRST_LINE = "        greeting = await self.client.get(Greeting, request)\n"
RAISES = '        if not greeting.spec.text:\n            raise ValueError("the text is empty")\n'
LOGS = '        log.info("Wrote the ConfigMap", outcome=outcome)\n'
STORAGE = "sqlite:greetings.db"
COMMAND = f"pilotage run greetings.py --storage {STORAGE} -f world.yaml"
CHANGES = (
    (("greeting", "world", "--set", "spec.text=good morning"), "patched by #3 →"),
    (("configmap", "world", "--set", "data.text=vandalised"), "patched by #5 →"),
    (("greeting", "world", "--set", "spec.text="), "again, as #8: "),
    (("greeting", "world", "--set", "spec.text=good night"), "'good night'"),
)
"""The words of a patch, and words that the terminal shows then."""
COLUMNS, ROWS = 112, 60
WITHIN_SECONDS, LOOK_SECONDS = 30.0, 0.05
ABOUT = "pilotage run on a terminal: why each reconcile runs, what it changes, and its result"


def record() -> list[str]:
    """Run the operator and the changes; the lines of the screen, as elements of SVG."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_program(folder)
        environment = {"PATH": f"{folder}:{os.environ['PATH']}", "HOME": name, "COLUMNS": str(COLUMNS)}
        with terminal(folder, environment, (COLUMNS, ROWS)) as pane:
            pane.type(COMMAND)
            pane.press("Enter")
            _wait_for(pane, "Ready", "created by #1 →")
            for change, shown in CHANGES:
                command = [str(folder / "pilotage"), "patch", *change, "--storage", STORAGE]
                subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=WITHIN_SECONDS)
                _wait_for(pane, shown)
            time.sleep(1)  # for the last lines
            lines = elements(pane.screen(colours=True))
            return lines[next(number for number, line in enumerate(lines) if "INFO" in line) :]


def _write_program(folder: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (program, *_), (objects, *_) = (
        re.findall(rf"^```{kind}\n(.*?)^```", page, re.DOTALL | re.MULTILINE) for kind in ("python", "yaml")
    )
    assert FIRST_LINE in program
    assert LOGS in program
    (folder / "greetings.py").write_text(program.replace(FIRST_LINE, FIRST_LINE + RAISES).replace(LOGS, ""))
    (folder / "world.yaml").write_text(objects)
    command = folder / "pilotage"
    command.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT / "src"} exec {sys.executable} -m pilotage "$@"\n')
    command.chmod(0o755)


def _wait_for(pane: Terminal, *shown: str) -> None:
    deadline = time.monotonic() + WITHIN_SECONDS
    while any(words not in (screen := pane.screen()) for words in shown):
        if time.monotonic() > deadline:
            raise TimeoutError(f"the terminal does not show {shown} in {WITHIN_SECONDS:g} s:\n{screen}")
        time.sleep(LOOK_SECONDS)


def picture(lines: list[str]) -> str:
    prompt = f'<tspan fill="{COLOURS["36"]}">{PROMPT}</tspan>{escape(COMMAND)}'
    rows = [text(line, number) for number, line in enumerate([prompt, *lines])]
    return "\n".join([*window("pilotage run", ABOUT, COLUMNS, len(rows)), *rows, "</svg>", ""])


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture(record()), encoding="utf-8")
