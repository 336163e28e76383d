"""Prints an interpreter for each supported Python that this machine has.

It is found on the path, in pyenv's versions, or in the cache folder, where `make newest-python` fetches the newest.

    python3 hack/pythons.py             a line with version and interpreter for each
    python3 hack/pythons.py --oldest    the interpreter of the oldest alone
    python3 hack/pythons.py --newest    the interpreter of the newest alone
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

SUPPORTED = ("3.11", "3.12", "3.13", "3.14")


def main() -> None:
    parser = argparse.ArgumentParser(description="Print an interpreter for each supported Python.")
    parser.add_argument("--oldest", action="store_true", help="print the interpreter of the oldest alone")
    parser.add_argument("--newest", action="store_true", help="print the interpreter of the newest alone")
    arguments = parser.parse_args()
    found = list(interpreters())
    if arguments.oldest or arguments.newest:
        print(found[0 if arguments.oldest else -1][1])
    else:
        print("\n".join(f"{version} {interpreter}" for version, interpreter in found))


def interpreters() -> Iterator[tuple[str, str]]:
    """The supported versions that are installed, the oldest first, with the path of each."""
    for version in SUPPORTED:
        interpreter = next((one for one in candidates(version) if works(one, version)), None)
        if interpreter is None:
            print(f"python{version} is not installed: skipped", file=sys.stderr)
        else:
            yield version, interpreter


def candidates(version: str) -> Iterator[str]:
    yield f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from (str(path) for path in sorted(pyenv.glob(f"versions/{version}.*/bin/python"), reverse=True))
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    yield str(cache / "pilotage" / "python" / version / "usr" / "bin" / f"python{version}")


def works(interpreter: str, version: str) -> bool:
    code = "import sys, venv; print('%d.%d' % sys.version_info[:2])"
    try:
        ran = subprocess.run([interpreter, "-c", code], capture_output=True, text=True, check=False)
    except OSError:
        return False
    return ran.stdout.strip() == version


if __name__ == "__main__":
    main()
