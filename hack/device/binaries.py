"""Builds the Go programs that the compatibility tests of the Device API talk to, once, outside the clone.

They are in tests/device/go, one for each generation of the wire, with h2spec as a tool of that module, and land in
`${XDG_CACHE_HOME:-~/.cache}/pilotage/device/<digest>/`, where the digest is that of their sources. The folder goes to
standard output, all else to standard error.

    python3 hack/device/binaries.py            build what is missing, then print the folder
    python3 hack/device/binaries.py --where    print the folder if it is there, and never build

The exit code is 0 when the folder is there, 1 when it is not or a build failed, 3 when there is no Go to build with.
"""

import argparse
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

GENERATIONS = ("v2", "v3", "v6", "v8")
H2SPEC = "github.com/summerwind/h2spec/cmd/h2spec"
PROGRAMS = {**{name: f"./cmd/{name}" for name in GENERATIONS}, "h2spec": H2SPEC}
FAILED, NO_GO = 1, 3  # exit codes

MODULE = Path(__file__).resolve().parent.parent.parent / "tests" / "device" / "go"


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the Go programs of the Device API's compatibility tests.")
    parser.add_argument("--where", action="store_true", help="print the folder if it is there, and never build")
    where: bool = parser.parse_args().where
    folder = cache() / digest()
    if not folder.is_dir():
        if where:
            stop(FAILED, "the Go programs are not built; `python3 hack/device/binaries.py` builds them")
        build(folder)
    print(folder)


def cache() -> Path:
    """The directory with one directory per digest."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pilotage" / "device"


def digest() -> str:
    """A name for the programs that changes with their sources."""
    content = hashlib.sha256(f"{sys.platform} {platform.machine()}\0".encode())
    for file in sorted(file for file in MODULE.rglob("*") if file.name in ("go.mod", "go.sum") or file.suffix == ".go"):
        content.update(f"{file.relative_to(MODULE)}\0".encode() + file.read_bytes() + b"\0")
    return content.hexdigest()[:16]


def build(folder: Path) -> None:
    """Build every program. The directory is created when all builds have succeeded."""
    go = shutil.which("go")
    if go is None:
        stop(NO_GO, "cannot build the Go programs: `go` is not on PATH; install Go (https://go.dev/dl)")
    say("building the Go programs of the Device API's compatibility tests; the first time takes a minute")
    # Go finds its caches by HOME; Path.home() works without the variable, too.
    home = {"HOME": os.environ.get("HOME") or str(Path.home())}
    ours = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as scratch:
        target = Path(scratch) / folder.name
        for program, package in PROGRAMS.items():
            flags = ["-buildvcs=false", "-trimpath", "-ldflags=-s -w"]
            command = [go, "build", *flags, "-o", str(target / program), package]
            # Standard output is only for the path of the directory.
            result = subprocess.run(command, cwd=MODULE, env=os.environ | home | ours, stdout=sys.stderr, check=False)
            if result.returncode != 0:
                stop(FAILED, f"building {program} failed with exit code {result.returncode}, see above")
        try:
            target.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another run has built the same programs meanwhile
                raise


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def stop(code: int, line: str) -> NoReturn:
    say(line)
    sys.exit(code)


if __name__ == "__main__":
    main()
