"""Prints version and interpreter of each supported Python that this machine has, the oldest first.

It is found on the path, in pyenv's versions, or in the cache folder, where `make newest-python` puts the newest.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SUPPORTED = ("3.11", "3.12", "3.13", "3.14")
COMPLETE = "complete"  # a file in the folder of a Python that was fetched, written last


def main() -> None:
    for version in SUPPORTED:
        interpreter = installed(version)
        if interpreter is None:
            print(f"python{version} is not installed: skipped", file=sys.stderr)
        else:
            print(f"{version} {interpreter}")


def installed(version: str) -> str | None:
    """The path of an interpreter that works, or None."""
    return next((one for one in candidates(version) if works(one, version)), None)


def candidates(version: str) -> Iterator[str]:
    yield f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from (str(path) for path in sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True))
    if (fetched(version) / COMPLETE).exists():
        yield str(fetched(version) / "usr" / "bin" / f"python{version}")


def fetched(version: str) -> Path:
    """The folder in the cache into which a Python is fetched."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "pilotage" / "python" / version


def works(interpreter: str, version: str) -> bool:
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        ran = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return ran.stdout.strip() == version


if __name__ == "__main__":
    main()
