"""From a save to what it changes, in `pilotage dev`, with the project of the tutorial: `python -m bench.dev [SAVES]`.

The image of the servers is changed in the file of the controller, again and again. The seconds are those from the write
of the file to the last line about it, as a reader of the terminal sees them, and the CPU time of the process beside
them. A median of more than half a second is an error where the machine is otherwise idle.
"""

from __future__ import annotations

import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.figures import cpu_of

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorial.md"
FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```', re.MULTILINE | re.DOTALL)
CONTROLLER = Path("src/websites/controllers/website.py")
MOST_SECONDS = 0.5
BETWEEN_SECONDS = 1.1
"""Between two saves: files have times of a second, and workloads go on."""


def main(saves: int) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = project(Path(name))
        command = [sys.executable, "-m", "pilotage.cli", "dev", "--no-explain"]
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        try:
            _until(process, "Ready")
            found = [saved(process, folder, number) for number in range(saves)]
        finally:
            process.send_signal(signal.SIGTERM)
            process.communicate(timeout=60)
    wall, cpu = (statistics.median(each) for each in zip(*found, strict=True))
    print(f"from a save to the difference: {wall:.2f} s, with {cpu:.2f} s of CPU (median of {saves})")
    busy = os.getloadavg()[0] > (os.cpu_count() or 1)
    return int(wall > MOST_SECONDS and not busy)


def project(folder: Path) -> Path:
    """The project of the tutorial."""
    for command, place in (("init websites", folder), ("create api Website", folder / "websites")):
        words = [sys.executable, "-m", "pilotage.cli", *command.split()]
        subprocess.run(words, cwd=place, check=True, stdout=subprocess.DEVNULL)
    for path, content in FILE.findall(PAGE.read_text()):
        (folder / "websites" / path).write_text(content)
    return folder / "websites"


def saved(process: subprocess.Popen[str], folder: Path, number: int) -> tuple[float, float]:
    """Save another image; the seconds and the CPU time until it is shown."""
    time.sleep(BETWEEN_SECONDS)
    text = re.sub(r"nginx:[\d.]+", f"nginx:1.{30 + number}", (folder / CONTROLLER).read_text())
    cpu, began = cpu_of(process.pid), time.perf_counter()
    (folder / CONTROLLER).write_text(text)
    lines = _until(process, "after the save")
    assert any(f"nginx:1.{30 + number}" in line for line in lines), lines
    return time.perf_counter() - began, cpu_of(process.pid) - cpu


def _until(process: subprocess.Popen[str], text: str) -> list[str]:
    """The lines up to one with a text."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if text in line:
            return lines
    raise RuntimeError(f"pilotage dev has ended:\n{''.join(lines)}")


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 9))
