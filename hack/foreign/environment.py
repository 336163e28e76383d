"""Installs the clients and pytest plugins for the foreign tests, once, outside the clone and the development tools.

The virtual environment is `${XDG_CACHE_HOME:-~/.cache}/pilotage/foreign/<digest>/`, where the digest is that of
requirements/foreign.lock and of the Python. The folder goes to standard output, all else to standard error.

    python3 hack/foreign/environment.py            install if it is missing, then print the folder
    python3 hack/foreign/environment.py --where    print the folder if it is there, and never install

The exit code is 0 when the folder is there, and 1 when it is not or the installation failed.
"""

import argparse
import fcntl
import hashlib
import os
import platform
import subprocess
import sys
from pathlib import Path

LOCK = Path(__file__).resolve().parents[2] / "requirements" / "foreign.lock"
COMPLETE = "complete"  # a file that is written last: a virtual environment cannot be moved into place


def main() -> None:
    parser = argparse.ArgumentParser(description="Install the packages of foreign.lock for the foreign tests.")
    parser.add_argument("--where", action="store_true", help="print the folder if it is there, and never install")
    where: bool = parser.parse_args().where
    folder = cache() / digest()
    if not (folder / COMPLETE).exists():
        if where:
            sys.exit("the foreign clients are not installed; `make foreign-clients` installs them")
        cache().mkdir(parents=True, exist_ok=True)
        with open(cache() / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # only one run installs at a time
            if not (folder / COMPLETE).exists():
                install(folder)
    print(folder)


def cache() -> Path:
    """The directory with one directory per digest."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pilotage" / "foreign"


def digest() -> str:
    content = hashlib.sha256(LOCK.read_bytes())
    content.update("\0".join((sys.version, sys.platform, platform.machine())).encode())
    return content.hexdigest()[:16]


def install(folder: Path) -> None:
    print("installing kopf, kr8s, lightkube and kubernetes (once, about a minute)", file=sys.stderr, flush=True)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    pip += ["--no-deps", "--require-hashes", "-r", LOCK]
    for command in ([sys.executable, "-m", "venv", "--clear", folder], pip):
        if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
            sys.exit("the installation failed, see above")
    (folder / COMPLETE).touch()


if __name__ == "__main__":
    main()
