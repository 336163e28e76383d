"""The Go programs that are measured beside ours."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def program(name: str) -> Path | None:
    """The path of a Go program, built if it is missing; None if there is no Go to build it with."""
    script = [sys.executable, "hack/beside/binaries.py"]
    built = subprocess.run(script, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)
    return Path(built.stdout.strip()) / name if built.returncode == 0 else None
