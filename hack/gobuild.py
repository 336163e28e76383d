"""Builds the Go programs that tests run, once, outside the clone: what `binaries.py` of several folders share.

The programs of one module are in `${XDG_CACHE_HOME:-~/.cache}/pilotage/<folder>/<digest>/`, where the digest is that of
everything that decides what is in them. The folder goes to standard output, all else to standard error.

The exit code is 0 when the folder is there, 1 when it is not or a build failed, 3 when there is no Go to build with.
"""

import argparse
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

FAILED, NO_GO = 1, 3  # exit codes
FLAGS = ("-buildvcs=false", "-trimpath")


@dataclass(frozen=True)
class Programs:
    """The programs of one Go module."""

    title: str
    """What they are, in messages: "the control plane"."""
    folder: str
    """The name of their directory in the cache."""
    module: Path
    packages: Mapping[str, str]
    """The package of each program."""
    script: str
    """The script that builds them, for messages."""
    command: tuple[str, ...] = ("build",)
    """What Go is asked for: a program, or with `test -c` the tests of a package as one."""
    linker_flags: str = "-s -w"
    add_files: Callable[[str, Path], None] = lambda go, folder: None
    """Adds files that the programs need to the new directory; called with the path of Go."""

    def main(self) -> None:
        """Print the directory of the programs, and build them before where they are missing."""
        parser = argparse.ArgumentParser(description=f"Build {self.title}, once, into the cache folder.")
        parser.add_argument("--where", action="store_true", help="print the folder if it is there, and never build")
        where: bool = parser.parse_args().where
        target = self.cache() / self.digest()
        if not target.is_dir():
            if where:
                stop(FAILED, f"{self.title}: not built yet; `python3 {self.script}` builds")
            go = self.usable_go()
            with self.lock():
                if not target.is_dir():  # else another run has built it while this one waited
                    self.build(go, target)
        print(target)

    def cache(self) -> Path:
        """The directory with one directory per digest."""
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pilotage" / self.folder

    def digest(self) -> str:
        """A name for the programs that changes with their sources."""
        content = hashlib.sha256()
        for file in sorted(file for file in self.module.rglob("*") if is_source(file)):
            content.update(f"{file.relative_to(self.module)}\0".encode() + file.read_bytes() + b"\0")
        content.update("\0".join((*self.command[1:], *self.flags(), sys.platform, platform.machine())).encode())
        return content.hexdigest()[:16]

    def flags(self) -> list[str]:
        return [*FLAGS, f"-ldflags={self.linker_flags}"]

    def usable_go(self) -> str:
        """The path of a Go that is new enough for go.mod. Exits if there is none."""
        wanted = found(r"^go (\d+)\.(\d+)\.(\d+)$", (self.module / "go.mod").read_text())
        advice = f"install Go {'.'.join(wanted)} or newer (https://go.dev/dl) and put it on PATH"
        go = shutil.which("go")
        if go is None:
            stop(NO_GO, f"cannot build {self.title}: `go` is not on PATH; {advice}")
        # Outside the module, because a Go that is too old cannot read its go.mod.
        answer = subprocess.run(
            [go, "version"], env=environment(), cwd="/", capture_output=True, text=True, check=False
        )
        version = re.search(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?", answer.stdout)
        if version is None:
            stop(NO_GO, f"cannot build {self.title}: `{go} version` does not print a version; {advice}")
        if [int(part or 0) for part in version.groups()] < [int(part) for part in wanted]:
            stop(NO_GO, f"cannot build {self.title}: {go} is {version[0]}, which is too old; {advice}")
        return go

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Only one run builds at a time; the others wait here."""
        self.cache().mkdir(parents=True, exist_ok=True)
        with open(self.cache() / "lock", "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"another run is building {self.title}, waiting for it")
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def build(self, go: str, target: Path) -> None:
        """Build every program. The directory is created when all builds have succeeded."""
        say(f"building {self.title}; the first time takes minutes")
        with tempfile.TemporaryDirectory(prefix="building-", dir=target.parent) as scratch:
            folder = Path(scratch) / target.name
            for count, (program, package) in enumerate(self.packages.items(), start=1):
                say(f"[{count}/{len(self.packages)}] building {program}")
                start = time.monotonic()
                command = [go, *self.command, *self.flags(), "-o", str(folder / program), package]
                # Standard output is only for the path of the directory.
                result = subprocess.run(command, cwd=self.module, env=environment(), stdout=sys.stderr, check=False)
                if result.returncode != 0:
                    stop(FAILED, f"building {program} failed with exit code {result.returncode}, see above")
                say(f"[{count}/{len(self.packages)}] built {program} in {time.monotonic() - start:.0f} s")
            self.add_files(go, folder)
            folder.rename(target)


def is_source(file: Path) -> bool:
    return file.name in ("go.mod", "go.sum") or file.suffix in (".go", ".yaml")  # YAML is embedded


def environment() -> dict[str, str]:
    """The environment of Go: the user's proxy and caches, but no settings that change the programs."""
    # Go finds its caches by HOME; Path.home() works without the variable, too.
    home = {"HOME": os.environ.get("HOME") or str(Path.home())}
    ours = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    return os.environ | home | ours


def found(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of the line that matches; our go.mod files always have one."""
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None, pattern
    return match.groups()


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def stop(code: int, line: str) -> NoReturn:
    say(line)
    sys.exit(code)
