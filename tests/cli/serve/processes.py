"""`pilotage serve` in a process of its own, for the tests of it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pilotage.cluster import Cluster

from ... import forked
from ...forked import ForkedProcess


def command(before: str) -> list[str]:
    """The start of the command line of a process that runs `before` first."""
    program = f"import sys\n{before}\nfrom pilotage.cli import main\nsys.exit(main(sys.argv[1:]))"
    return ["-c", program, "serve", "--bind"]


@dataclass(frozen=True)
class Running:
    lines: list[str]
    url: str
    kubeconfig: Path
    process: ForkedProcess

    @property
    def bind(self) -> str:
        """What to give to `--bind` for the same address once more."""
        return self.url.removeprefix("https://")

    def cluster(self) -> Cluster:
        """The cluster that the kubeconfig names."""
        return Cluster.connect(kubeconfig=str(self.kubeconfig))


@contextmanager
def serving(
    folder: Path, *options: str, bind: str = "127.0.0.1:0", stop: int = signal.SIGTERM, before: str = ""
) -> Iterator[Running]:
    """The command while it serves; it must end with exit code 0."""
    process = ForkedProcess(*command(before), bind, *options, folder=folder)
    lines = [process.stdout.readline(), process.stdout.readline()]
    try:
        url = lines[0].partition(" at ")[2].partition(";")[0]
        yield Running(lines, url, folder / "pilotage.kubeconfig", process)
    finally:
        process.send_signal(stop)
        rest, errors = process.communicate(timeout=100)
    assert (process.returncode, _without_progress(errors)) == (0, ""), errors
    assert rest in ("stopping\n", "")  # the test may have read it


def failure(folder: Path, *options: str, before: str = "") -> str:
    """The one line of a command that fails with exit code 1; `before` is run first, in its process."""
    ran = forked.run(*command(before), "127.0.0.1:0", *options, folder=folder)
    errors = _without_progress(ran.stderr)
    assert (ran.returncode, ran.stdout, errors.count("\n")) == (1, "", 1), ran.stderr
    assert errors.startswith("pilotage: ")
    return errors.removeprefix("pilotage: ").rstrip("\n")


def _without_progress(errors: str) -> str:
    """What a command printed, without the lines about what takes long on a busy machine."""
    lines = errors.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(("Opening ", "Creating certificates")))
