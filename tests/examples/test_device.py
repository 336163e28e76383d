"""The examples of the Device API, unchanged, each in its own process, against a fake server in another."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.running import RealCluster

from ..forked import ForkedProcess

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMES = [f"gpu-{number}" for number in range(1, 9)]
UUID = re.compile(r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
WATCH_METHOD = "/nvidia.nvsentinel.v1alpha1.GpuService/WatchGpus"
PATIENCE = 60.0
METRICS_ADDRESS = "127.0.0.1:8080"
"""What the controller shim binds."""


@dataclass
class Program:
    """A program that runs; its lines are read as they come."""

    process: ForkedProcess
    _lines: queue.Queue[str | None] = field(default_factory=queue.Queue)
    _seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def kill(self) -> None:
        """End it, and read its last lines: the stream is closed after that."""
        self.process.kill()
        self._reader.join(PATIENCE)

    def line(self) -> str:
        found = self._lines.get(timeout=PATIENCE)
        assert found is not None, f"the program ended with {self.process.wait(PATIENCE)} after: {self._seen}"
        self._seen.append(found)
        return found

    def event(self) -> dict[str, Any]:
        """The next log line, without its time."""
        found: dict[str, Any] = json.loads(self.line())
        del found["time"]
        return found

    def end(self, number: signal.Signals) -> tuple[int, list[str]]:
        """The exit code after a signal, and the lines that still came."""
        self.process.send_signal(number)
        left = [*iter(lambda: self._lines.get(timeout=PATIENCE), None)]
        return self.process.wait(PATIENCE), left

    def _read(self) -> None:
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)


@contextmanager
def running(*command: str, environment: dict[str, str], folder: Path | None = None) -> Iterator[Program]:
    together = os.environ | {"PYTHONUNBUFFERED": "1"} | environment
    process = ForkedProcess(*command, folder=folder, environment=together, merged=True)
    with process:
        program = Program(process)
        try:
            yield program
        finally:
            program.kill()


@pytest.fixture
def target() -> Iterator[str]:
    with fake_server() as address:
        yield address


@contextmanager
def fake_server(*options: str) -> Iterator[str]:
    """A fake server that changes one GPU every 0.3 s, in a folder whose name is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="pt") as folder:
        address = f"unix://{folder}/api/device-api.sock"
        command = ["-m", "pilotage.cli", "device", "serve", "--provider", "fake", "--period", "0.3", *options]
        with running(*command, environment={"NVIDIA_DEVICE_API_TARGET": address}) as server:
            while "listening on" not in server.line():
                pass
            yield address


@contextmanager
def example(name: str, target: str, *arguments: str, kubeconfig: str = "/nowhere") -> Iterator[Program]:
    environment = {"NVIDIA_DEVICE_API_TARGET": target, "KUBECONFIG": kubeconfig}
    with runnable(EXAMPLES / name) as path, running(str(path), *arguments, environment=environment) as program:
        yield program


@contextmanager
def runnable(path: Path) -> Iterator[Path]:
    """The program, or a copy that selects a free port where it names one: another test may use that port."""
    text = path.read_text()
    if METRICS_ADDRESS not in text:
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / path.name
        copy.write_text(text.replace(METRICS_ADDRESS, "127.0.0.1:0"))
        yield copy


def named(event: dict[str, Any]) -> tuple[Any, Any]:
    assert UUID.fullmatch(event["uuid"]), event
    return event["message"], event["name"]


def test_the_quick_start_lists_the_gpus(target: str) -> None:
    with example("basic_client.py", target) as program:
        lines = [program.line() for _ in range(9)]
        assert program.process.wait(PATIENCE) == 0
    for line, name in zip(lines, NAMES, strict=False):
        assert re.fullmatch(rf"GPU: {name} \| Ready: (True|False)", line)
    assert UUID.search(lines[8])


def test_the_basic_client_discovers_reads_and_prints(target: str) -> None:
    with example("device_basic_client.py", target) as program:
        assert program.event() == {
            "level": "info",
            "logger": "basic-client",
            "message": "discovered GPUs",
            "count": 8,
            "target": target,
        }
        assert named(program.event()) == ("details", "gpu-1")
        for name in NAMES:
            event = program.event()
            assert named(event) == ("status", name)
            assert event["status"] in ("Ready", "NotReady")
        assert program.process.wait(PATIENCE) == 0


@pytest.mark.parametrize(
    ("name", "first"), [("device_basic_client.py", "discovered GPUs"), ("streaming_daemon.py", "retrieved GPU list")]
)
def test_the_wire_of_an_example_is_chosen_by_the_environment(
    name: str, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PILOTAGE_DEVICE_WIRE", "v8")
    with fake_server("--profile", "v8") as target, example(name, target) as program:
        event = program.event()
        assert (event["message"], event["count"]) == (first, 8)


def test_the_basic_client_reports_a_missing_server() -> None:
    with example("device_basic_client.py", "unix:///nowhere/api.sock") as program:
        events = [program.event(), program.event()]
        assert program.process.wait(PATIENCE) == 1
    assert [event["level"] for event in events] == ["error", "error"]
    assert events[1]["message"] == "failed to read the GPUs"
    assert "/nowhere/api.sock" in events[1]["error"]


def test_the_streaming_daemon_follows_until_it_is_stopped(target: str) -> None:
    with example("streaming_daemon.py", target) as program:
        events = [program.event() for _ in range(3)]
        assert [event["message"] for event in events] == [
            "retrieved GPU list",
            "starting long-lived watch stream",
            "watch stream established, waiting for events...",
        ]
        assert events[0]["count"] == 8
        assert events[1]["method"] == WATCH_METHOD
        changes = [program.event() for _ in range(10)]
        assert all(named(change)[0] == "gpu status changed" for change in changes)
        assert [(change["event"], change["name"]) for change in changes[:8]] == [("ADDED", name) for name in NAMES]
        assert {change["event"] for change in changes[8:]} == {"MODIFIED"}
        assert {change["status"] for change in changes} <= {"Ready", "NotReady"}
        code, left = program.end(signal.SIGTERM)
    assert code == 0
    assert json.loads(left[-1])["message"] == "received shutdown signal, stopping watch"


def test_the_controller_shim_reconciles_gpus_without_an_api_server(target: str) -> None:
    with example("controller_shim.py", target) as program:
        check_the_shim(program)
        code, _ = program.end(signal.SIGINT)
        assert code == 0


def test_the_controller_shim_runs_with_a_cluster_too(target: str, tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    serve = ["-m", "pilotage.cli", "serve", "--bind", "127.0.0.1:0", "--kubeconfig", str(kubeconfig)]
    with running(*serve, environment={}) as cluster:
        while not kubeconfig.exists():
            cluster.line()
        with example("controller_shim.py", target, "cluster", kubeconfig=str(kubeconfig)) as program:
            check_the_shim(program)
            assert program.end(signal.SIGTERM)[0] == 0


@pytest.mark.cluster
def test_the_controller_shim_runs_with_a_real_cluster_too(target: str, real_control_plane: RealCluster) -> None:
    kubeconfig = str(real_control_plane.kubeconfig)
    with example("controller_shim.py", target, "cluster", kubeconfig=kubeconfig) as program:
        check_the_shim(program)
        assert program.end(signal.SIGTERM)[0] == 0


def check_the_shim(program: Program) -> None:
    """The expected output, line for line."""
    events = [program.event() for _ in range(5)]
    assert [(event["level"], event["message"]) for event in events] == [
        ("info", "starting manager"),
        ("info", "Starting metrics server"),
        ("info", "Starting EventSource"),
        ("info", "Starting Controller"),
        ("info", "Starting workers"),
    ]
    assert [event["logger"] for event in events[:2]] == ["setup", "controller-runtime.metrics"]
    assert [event.get("controller") for event in events] == [None, None, "gpu", "gpu", "gpu"]
    assert events[2]["source"] == "kind source: *v1alpha1.GPU"
    assert events[4]["worker count"] == 1
    reconciled = [program.event() for _ in range(8 + 3)]
    assert sorted(map(named, reconciled[:8])) == [("Reconciled GPU", name) for name in NAMES]
    assert {named(toggled)[0] for toggled in reconciled[8:]} == {"Reconciled GPU"}
    assert {event["controller"] for event in reconciled} == {"gpu"}
    assert all(UUID.fullmatch(event["uuid"]) for event in reconciled)
    assert NAMES[0] == "gpu-1"
