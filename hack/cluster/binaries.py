"""Builds the control plane that the cluster tests run against, once, outside the clone.

kube-apiserver, etcd and kubectl are built from their Go modules at the versions in go.mod. They land in
`${XDG_CACHE_HOME:-~/.cache}/pilotage/cluster/<digest>/`, where the digest is that of everything that decides
what is in them. The folder goes to standard output, all else to standard error.

    python3 hack/cluster/binaries.py            build what is missing, then print the folder
    python3 hack/cluster/binaries.py --where    print the folder if it is there, and never build

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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

PROGRAMS = ("etcd", "kubectl", "kube-apiserver")
FAILED, NO_GO = 1, 3  # exit codes

MODULE = Path(__file__).resolve().parent
GO_MOD = (MODULE / "go.mod").read_text()


def main() -> None:
    parser = argparse.ArgumentParser(description="Build kube-apiserver, etcd and kubectl for the cluster tests.")
    parser.add_argument("--where", action="store_true", help="print the folder if it is there, and never build")
    where: bool = parser.parse_args().where
    folder = cache() / digest()
    if not folder.is_dir():
        if where:
            stop(FAILED, "the control plane is not built; `python3 hack/cluster/binaries.py` builds it")
        go = usable_go()
        with lock():
            if not folder.is_dir():  # else another run has built it while this one waited
                build(go, folder)
    print(folder)


def cache() -> Path:
    """The directory with one directory per digest."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pilotage" / "cluster"


def digest() -> str:
    """A name for the binaries that changes with their sources."""
    content = hashlib.sha256()
    for file in sorted(file for file in MODULE.rglob("*") if file.name in ("go.mod", "go.sum") or file.suffix == ".go"):
        content.update(f"{file.relative_to(MODULE)}\0".encode() + file.read_bytes() + b"\0")
    content.update("\0".join((*build_flags(), sys.platform, platform.machine())).encode())
    return content.hexdigest()[:16]


def build_flags() -> list[str]:
    """The flags of every build; they stamp the version as a release of Kubernetes has it."""
    stamp = {
        "gitVersion": f"v{'.'.join(kubernetes_version())}",
        "gitMajor": kubernetes_version()[0],
        "gitMinor": kubernetes_version()[1],
        "gitCommit": "",  # a Go module does not contain its commit
        "gitTreeState": "archive",  # Kubernetes' word for sources without their git history
    }
    packages = ("k8s.io/component-base/version", "k8s.io/client-go/pkg/version")
    values = (f"-X {package}.{key}={value}" for package in packages for key, value in stamp.items())
    return ["-buildvcs=false", "-trimpath", f"-ldflags=-s -w {' '.join(values)}"]


def kubernetes_version() -> tuple[str, ...]:
    return found(r"^\tk8s\.io/kubernetes v(\d+)\.(\d+)\.(\d+)$", GO_MOD)


def go_environment() -> dict[str, str]:
    """The environment of the build: the user's proxy and caches, but no settings that change the binaries."""
    # Go finds its caches by HOME; Path.home() works without the variable, too.
    home = {"HOME": os.environ.get("HOME") or str(Path.home())}
    ours = {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local", "GOWORK": "off"}
    return os.environ | home | ours


def usable_go() -> str:
    """The path of a Go that is new enough for go.mod. Exits if there is none."""
    wanted = found(r"^go (\d+)\.(\d+)\.(\d+)$", GO_MOD)
    advice = f"install Go {'.'.join(wanted)} or newer (https://go.dev/dl) and put it on PATH"
    go = shutil.which("go")
    if go is None:
        stop(NO_GO, f"cannot build the control plane: `go` is not on PATH; {advice}")
    # Outside the module, because a Go that is too old cannot read its go.mod.
    answer = subprocess.run([go, "version"], env=go_environment(), cwd="/", capture_output=True, text=True, check=False)
    version = re.search(r"\bgo(\d+)\.(\d+)(?:\.(\d+))?", answer.stdout)
    if version is None:
        stop(NO_GO, f"cannot build the control plane: `{go} version` does not print a version; {advice}")
    if [int(part or 0) for part in version.groups()] < [int(part) for part in wanted]:
        stop(NO_GO, f"cannot build the control plane: {go} is {version[0]}, which is too old; {advice}")
    return go


@contextmanager
def lock() -> Iterator[None]:
    """Only one run builds at a time; the others wait here."""
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / "lock", "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another run is building the control plane, waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def build(go: str, folder: Path) -> None:
    """Build every program. The directory is created when all builds have succeeded."""
    (etcd,) = found(r"^\tgo\.etcd\.io/etcd/server/v3 v(\S+)$", GO_MOD)
    say(f"building Kubernetes {'.'.join(kubernetes_version())} and etcd {etcd}; the first time takes minutes")
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder.parent) as scratch:
        target = Path(scratch) / folder.name
        for count, program in enumerate(PROGRAMS, start=1):
            say(f"[{count}/{len(PROGRAMS)}] building {program}")
            start = time.monotonic()
            command = [go, "build", *build_flags(), "-o", str(target / program), f"./{program}"]
            # Standard output is only for the path of the directory.
            result = subprocess.run(command, cwd=MODULE, env=go_environment(), stdout=sys.stderr, check=False)
            if result.returncode != 0:
                stop(FAILED, f"building {program} failed with exit code {result.returncode}, see above")
            say(f"[{count}/{len(PROGRAMS)}] built {program} in {time.monotonic() - start:.0f} s")
        target.rename(folder)


def found(pattern: str, text: str) -> tuple[str, ...]:
    """The groups of the line that matches; our go.mod always has one."""
    match = re.search(pattern, text, re.MULTILINE)
    assert match is not None, pattern
    return match.groups()


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def stop(code: int, line: str) -> NoReturn:
    say(line)
    sys.exit(code)


if __name__ == "__main__":
    main()
