"""Python programs in processes that are forked from one that has Pilotage imported.

Imports take most of the time of a short program; a forked one needs a tenth of it. A program still has its own process,
command line, folder, environment and standard streams, and warnings are errors. What concerns the start of an
interpreter (imports, signals that are ignored from the start) is tested with `subprocess`.
"""

from __future__ import annotations

import gc
import multiprocessing
import os
import runpy
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType

IMPORTED = (
    "tests.forked",
    "pilotage.cli.demo",
    "pilotage.cli.device.options",
    "pilotage.cli.device.server",
    "pilotage.kit.execution",
    "pilotage.kit.tool",
    "pilotage.cli.run.execution",
    "pilotage.cli.serve.server",
    "pilotage.client.outcome",
    "pilotage.client.restmapper",
    "pilotage.client.transport.http",
    "pilotage.cluster.cachedclient",
    "pilotage.cluster.cluster",
    "pilotage.cluster.eventwriter",
    "pilotage.cluster.installation",
    "pilotage.controller.builder",
    "pilotage.device.client.clientset",
    "pilotage.device.providers.fake",
    "pilotage.device.server.deviceserver",
    "pilotage.device.wire.messages",
    "pilotage.grpc.channel",
    "pilotage.grpc.server",
    "pilotage.manager.endpoints.endpoints",
    "pilotage.manager.manager",
    "pilotage.manager.permissions",
    "pilotage.meta.wirenames",
    "pilotage.schema.cel.rules",
    "pilotage.schema.definition.validate",
    "pilotage.schema.generate.crd",
    "pilotage.kubernetes.assembly",
    "pilotage.codec.structure",
    "pilotage.server.plugins.policies",
    "pilotage.server.plugins.webhooks",
    "pilotage.server.registry",
    "pilotage.storage.memory",
    "pilotage.storage.sqlite.storage",
    "pilotage.testing",
    "pilotage.testing.loop",
    "pilotage.types.apiextensions.v1",
    "pilotage.types.apps.v1",
    "pilotage.types.core.v1",
    "pilotage.webhook.server",
    "pytest",
)

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(list(IMPORTED))


class ForkedProcess:
    """A running program: `subprocess.Popen` of `python -W error` and the command, as far as the tests use it."""

    def __init__(
        self,
        *command: str,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        merged: bool = False,
    ) -> None:
        """Start the program. `merged`: it prints errors to standard output too."""
        output, child_output = os.pipe()
        errors, child_errors = (os.dup(output), os.dup(child_output)) if merged else os.pipe()
        streams = Connection(child_output, readable=False), Connection(child_errors, readable=False)
        settings = (dict(environment or os.environ), str(folder or Path.cwd()))
        self._process = _processes.Process(target=_run, args=(command, *settings, *streams))
        self._process.start()
        for stream in streams:
            stream.close()
        self.stdout = os.fdopen(output, encoding="utf-8")
        self.stderr = os.fdopen(errors, encoding="utf-8")

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.returncode is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired(self._process.name, timeout or 0)
        return self._process.exitcode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What it prints from now on, to both streams, until it has ended."""
        with ThreadPoolExecutor(2) as threads:
            both = threads.submit(self.stdout.read), threads.submit(self.stderr.read)
            try:
                self.wait(timeout)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            finally:
                printed = both[0].result(), both[1].result()
                self.close()
        return printed

    def __enter__(self) -> ForkedProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if error is not None:  # a failed test may not have reached what ends the program
            self.kill()
        self.wait()
        self.close()

    def close(self) -> None:
        """Close our ends of its streams."""
        self.stdout.close()
        self.stderr.close()


def run(
    *command: str, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end, for 60 seconds at most."""
    with ForkedProcess(*command, folder=folder, environment=environment) as process:
        output, errors = process.communicate(100)
        return subprocess.CompletedProcess(command, process.wait(), output, errors)


def _run(
    command: tuple[str, ...], environment: dict[str, str], folder: str, stdout: Connection, stderr: Connection
) -> None:
    gc.freeze()  # what was imported before the fork: to look for garbage in it takes 50 milliseconds each time
    os.dup2(stdout.fileno(), 1)
    os.dup2(stderr.fileno(), 2)
    stdout.close()
    stderr.close()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    if environment.get("PYTHONUNBUFFERED"):
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    warnings.resetwarnings()
    warnings.simplefilter("error")
    match command:
        case ("-c", code, *arguments):
            sys.argv = ["-c", *arguments]
            exec(code, {"__name__": "__main__"})
        case ("-m", module, *arguments):
            sys.argv = [module, *arguments]
            sys.path.insert(0, folder)
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case (path, *arguments):
            sys.argv = [path, *arguments]
            sys.path.insert(0, os.path.dirname(path))
            runpy.run_path(path, run_name="__main__")
