"""The page of the examples: it names each of them, and each prints what the page shows."""

from __future__ import annotations

import re
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from .test_device import EXAMPLES, PATIENCE, Program, example, running

PAGE = (EXAMPLES / "README.md").read_text()
BLOCK = re.compile(r"^```console\n\$ python ((?:-m )?\S+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
ON_DEVICES = {
    "basic_client.py": (),
    "device_basic_client.py": (),
    "streaming_daemon.py": ("--period", "0.3"),
    "controller_shim.py": (),
    "gpu_agent.py": ("--period", "0.3", "--failures", "0.5", "--seed", "3"),
}
"""Those that need a fake server, and what it is given so that nothing takes long."""

ENDLESS = ("streaming_daemon.py", "controller_shim.py", "gpu_agent.py")
"""Those that run until they are stopped."""

CHANGING = [
    (r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "GPU-UUID"),
    (r"note-[a-z0-9]{5}", "note-NAME"),
    (r"Ready: (True|False)", "Ready: STATUS"),
    (r'"status": "(Ready|NotReady)"', '"status": STATUS'),
    (r"unix://[\w/.-]*device-api\.sock", "TARGET"),
    (r"at version \d+", "at version NUMBER"),
]
"""What differs from run to run."""


@dataclass(frozen=True)
class Shown:
    """A program and what the page shows of its output."""

    name: str
    arguments: tuple[str, ...]
    lines: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        return not any("…" in line for line in self.lines)


def shown() -> list[Shown]:
    return [
        Shown(name, tuple(arguments.split()), tuple(output.splitlines()))
        for name, arguments, output in BLOCK.findall(PAGE)
    ]


def same_each_time(line: str) -> str:
    for pattern, placeholder in CHANGING:
        line = re.sub(pattern, placeholder, line)
    return line


def matches(pattern: str, line: str) -> bool:
    """Whether a line is as the page shows it, in which `…` stands for anything."""
    parts = (re.escape(part) for part in same_each_time(pattern).split("…"))
    return re.fullmatch(".*".join(parts), same_each_time(line)) is not None


@contextmanager
def started(program: Shown) -> Iterator[Program]:
    if program.name.startswith("-m "):
        environment = {"KUBECONFIG": "/nowhere"}
        with running(*program.name.split(), *program.arguments, folder=EXAMPLES, environment=environment) as found:
            yield found
        return
    if program.name not in ON_DEVICES:
        with example(program.name, "unix:///nowhere", *program.arguments) as found:
            yield found
        return
    with tempfile.TemporaryDirectory(prefix="pt") as folder:  # short enough for a socket
        target = f"unix://{folder}/api/device-api.sock"
        command = ["-m", "pilotage.cli", "device", "serve", "--provider", "fake", *ON_DEVICES[program.name]]
        with running(*command, environment={"NVIDIA_DEVICE_API_TARGET": target}) as server:
            while "listening on" not in server.line():
                pass
            with example(program.name, target, *program.arguments) as found:
                yield found


def test_every_example_is_in_the_table_and_has_its_output() -> None:
    there = {path.name for path in EXAMPLES.glob("*.py")}
    assert set(re.findall(r"^\| \[(\w+\.py)\]\(\1\) \|", PAGE, re.MULTILINE)) == there
    packages = {f"-m {path.parent.name}" for path in EXAMPLES.glob("*/__main__.py")}
    only_tests = {
        "test_chaos.py",
        "test_greetings.py",
        "test_rollout.py",
    }  # pytest runs them, and they print nothing of their own
    assert {program.name for program in shown()} == (there - only_tests) | packages


@pytest.mark.parametrize("program", shown(), ids=lambda program: program.name)
def test_an_example_prints_what_the_page_shows(program: Shown) -> None:
    with started(program) as found:
        if program.is_whole:
            printed = [same_each_time(found.line()) for _ in program.lines]
            in_order = list if program.name != "notes.py" else sorted  # notes are listed by their random names
            assert in_order(printed) == in_order(map(same_each_time, program.lines))
        else:
            for line in program.lines:  # others may come between
                while not matches(line, found.line()):
                    pass
        if program.name in ENDLESS:
            found.process.send_signal(signal.SIGTERM)
        assert found.process.wait(PATIENCE) == 0
