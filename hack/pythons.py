"""Print an interpreter for each supported Python that is installed: on the path, or in pyenv's versions."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SUPPORTED = ("3.11", "3.12", "3.13")


def candidates(version: str) -> Iterator[str]:
    yield f"python{version}"
    root = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from (str(path) for path in sorted(root.glob(f"versions/{version}.*/bin/python"), reverse=True))


def works(interpreter: str, version: str) -> bool:
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        ran = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return ran.stdout.strip() == version


for wanted in SUPPORTED:
    found = next((one for one in candidates(wanted) if works(one, wanted)), None)
    if found is None:
        print(f"python{wanted} is not installed: skipped", file=sys.stderr)
    else:
        print(f"{wanted} {found}")
