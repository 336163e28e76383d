"""Ctrl-C while the reconcilers of a command run."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import pilotage as pt
from pilotage import cli
from tests.forked import ForkedProcess
from tests.kit.tools import Console, Todo, setup


class InterruptedReconciler:
    """Ctrl-C is pressed once, and again in the middle of the shutdown for an object with the text `twice`."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self._shutting_down = asyncio.Event()
        manager.add(self)

    def stop_accepting(self) -> None:
        self._shutting_down.set()

    async def start(self) -> None:
        await asyncio.Event().wait()

    async def reconcile(self, request: pt.Request) -> pt.Result:
        todo = await self.client.get(Todo, request)
        signal.raise_signal(signal.SIGINT)
        await self._shutting_down.wait()
        if todo.spec.text == "twice":
            signal.raise_signal(signal.SIGINT)
            await asyncio.Event().wait()
        await self.client.patch_status(todo, {"status": {"phase": "Done"}})
        return pt.Result()


@pytest.fixture
def interrupted(todo: Console) -> Iterator[Console]:
    todo.tool.setup = lambda manager: pt.ControllerBuilder(manager).for_(Todo).complete(InterruptedReconciler(manager))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    yield todo
    signal.signal(signal.SIGINT, before)


def test_what_runs_is_finished_and_the_user_is_informed(interrupted: Console) -> None:
    ran = interrupted.run("create", "todo", "milk", "--set", "spec.text=once")
    assert (ran.code, ran.output) == (130, "todo.todo.example.com/milk created\n")
    waiting, ended = ran.errors.splitlines()
    assert waiting.startswith(
        "interrupted: waiting until this ends, for 30.0 s at most; press Ctrl-C again to stop now: "
    )
    assert "todo default/milk" in waiting
    assert ended == "error: interrupted: what was written is stored, and the next command reconciles the rest"
    assert interrupted.output("get", "todo", "milk", "-o", "jsonpath={.status.phase}") == "Done"


def test_a_second_signal_ends_the_command_and_what_was_cut_is_listed(interrupted: Console) -> None:
    ran = interrupted.run("create", "todo", "milk", "--set", "spec.text=twice")
    assert ran.code == 130
    assert ran.errors.splitlines()[-1].startswith("error: interrupted, and not finished: ")
    assert "todo default/milk" in ran.errors.splitlines()[-1]
    assert interrupted.output("get", "todo", "milk", "-o", "jsonpath={.status.phase}") == ""
    interrupted.tool.setup = setup
    interrupted.output("reconcile")
    assert interrupted.output("get", "todo", "milk", "-o", "jsonpath={.status.phase}") == "Open"


class LateReconciler:
    """Ctrl-C is pressed when its time is over, in the moment that it has left."""

    def __init__(self, manager: pt.Manager) -> None:
        manager.add(self)

    def stop_accepting(self) -> None:
        signal.raise_signal(signal.SIGINT)

    async def start(self) -> None:
        await asyncio.Event().wait()

    async def reconcile(self, request: pt.Request) -> None:
        await asyncio.Event().wait()


def test_what_is_cut_after_the_timeout_is_listed_also_after_a_signal(interrupted: Console) -> None:
    interrupted.tool.setup = lambda manager: pt.ControllerBuilder(manager).for_(Todo).complete(LateReconciler(manager))
    ran = interrupted.run("create", "todo", "milk", "--set", "spec.text=a", "--reconcile-timeout", "0.1")
    assert ran.code == 130
    assert ran.errors.splitlines()[-1].startswith("error: interrupted, and not finished: controller.reconcile todo")


class InterruptedDefaulter:
    """Ctrl-C is pressed in the middle of a command: while its second object is written."""

    async def default(self, todo: Todo) -> None:
        if todo.metadata.name == "second":
            signal.raise_signal(signal.SIGINT)
            await asyncio.Event().wait()


def test_a_command_that_was_cut_does_not_say_that_all_is_stored(interrupted: Console) -> None:
    def setup_webhook(manager: pt.Manager) -> None:
        pt.WebhookBuilder(manager).for_(Todo).with_defaulter(InterruptedDefaulter()).complete()

    interrupted.tool.setup = setup_webhook
    kind = "apiVersion: todo.example.com/v1\nkind: Todo\n"
    objects = [f"{kind}metadata: {{name: {name}}}\nspec: {{text: a}}\n" for name in ("first", "second", "third")]
    ran = interrupted.run("apply", "-f", "-", stdin="---\n".join(objects))
    assert (ran.code, ran.output) == (130, "todo.todo.example.com/first created\n")
    assert ran.errors.splitlines()[-1] == (
        "error: interrupted before the command was finished: not everything may be written, run it again"
    )


PROGRAM = """
import asyncio, signal, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
import pilotage as pt
from pilotage import kit
from pilotage.kit.console.signals import interruption
from pilotage.kit.console.signals import deadline

deadline.EXIT_SECONDS = interruption.EXIT_SECONDS = 0.5
passed = [0.0]
interruption.time = SimpleNamespace(monotonic=lambda: time.monotonic() + passed[0])

class TaskSpec(pt.Model):
    how: str

@pt.resource(group="stuck.example.com", version="v1")
class Task(pt.Resource):
    spec: TaskSpec

def say(text):
    print(text, flush=True)

def setup(manager):
    async def reconcile(request):
        task = await manager.client.get(Task, request)
        say("begun")
        match task.spec.how:
            case "ignores":
                while True:
                    try:
                        await asyncio.sleep(3600)
                    except asyncio.CancelledError:
                        pass
            case "waits":
                await asyncio.sleep(3600)
            case "blocks":
                while True:  # Python 3.14 may not look for a signal between the print and one long sleep
                    time.sleep(0.1)
            case "outlasts":
                passed[0] = 3600.0
                time.sleep(3601)
            case "to_thread":
                await asyncio.to_thread(time.sleep, 3600)
            case "executor":
                await asyncio.get_running_loop().run_in_executor(ThreadPoolExecutor(), time.sleep, 3600)
            case "commits":
                with open("locked") as pipe:
                    pipe.read()
                await manager.client.patch(task, {"metadata": {"labels": {"stored": "yes"}}})
                say("stored")
    pt.ControllerBuilder(manager).for_(Task).complete(reconcile)

signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
tool = kit.Tool("stuck", kinds=[Task], setup=setup, storage="sqlite:stuck.db")
"""
MAIN = "tool.main(sys.argv[1:])\n"
APPLICATION = """
try:
    tool.main(sys.argv[1:])
except SystemExit as error:
    for thread in threading.enumerate():
        if thread.daemon:
            thread.join(1)  # one that ends the process would do it now
    say(f"goes on after {error.code}")
    sys.exit(7)
"""
WAITING = "interrupted: waiting until this ends, for "
CUT = "error: interrupted, and not finished: controller.reconcile task default/a "


def stuck(folder: Path, how: str, main: str = MAIN) -> ForkedProcess:
    """A tool in the middle of a reconcile that does not end."""
    (folder / "stuck.py").write_text(PROGRAM + main)
    process = ForkedProcess("stuck.py", "create", "task", "a", "--set", f"spec.how={how}", folder=folder)
    while process.stdout.readline() != "begun\n":
        assert process.poll() is None, process.stderr.read()
    return process


def interrupt_twice(process: ForkedProcess) -> tuple[str, list[str]]:
    """Press Ctrl-C, and again as soon as the command has printed what it waits for; the output that follows."""
    process.send_signal(signal.SIGINT)
    while not (line := process.stderr.readline()).startswith(WAITING):
        assert line == "Reconciling …\n"
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(100)
    return output, [line for line in errors.splitlines() if line != "Reconciling …"]


def assert_cut(lines: list[str]) -> None:
    assert lines, lines
    assert all(line.startswith(CUT) for line in lines), lines  # two, if the command itself ends at the deadline


@pytest.mark.parametrize("how", ["ignores", "blocks", "to_thread", "executor"])
def test_a_process_ends_in_time_with_a_report_whatever_a_reconcile_does(how: str, tmp_path: Path) -> None:
    with stuck(tmp_path, how) as process:
        _, lines = interrupt_twice(process)
    assert_cut(lines)
    assert process.returncode == 130


def test_a_reconcile_that_blocks_the_event_loop_ends_with_the_timeout_and_is_named_with_its_place(
    tmp_path: Path,
) -> None:
    with stuck(tmp_path, "outlasts") as process:
        _, errors = process.communicate(100)
    line = PROGRAM[: PROGRAM.index("time.sleep(3601)")].count("\n") + 1
    begin = "error: the changes are stored, but not reconciled: task default a blocks the event loop at "
    (shown,) = [line for line in errors.splitlines() if line != "Reconciling …"]
    assert shown.startswith(begin), shown
    assert f"stuck.py:{line} in setup.<locals>.reconcile; await instead" in shown
    assert "; controller.reconcile task default/a (" in shown
    assert process.returncode == 5


def test_an_application_that_goes_on_after_an_interrupted_command_is_left_alone(tmp_path: Path) -> None:
    with stuck(tmp_path, "waits", APPLICATION) as process:
        output, lines = interrupt_twice(process)
    assert_cut(lines)
    assert (output, process.returncode) == ("goes on after 130\n", 7)


def test_a_process_in_the_middle_of_a_commit_ends_in_time_and_the_file_is_whole(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "locked")
    with (
        stuck(tmp_path, "commits") as process,
        closing(sqlite3.connect(tmp_path / "stuck.db", isolation_level=None)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")  # the commit waits for this lock, and never gets it
        (tmp_path / "locked").write_text("")
        _, lines = interrupt_twice(process)
    assert_cut(lines)
    assert process.returncode == 130
    assert cli.main(["store", "check", f"sqlite:{tmp_path}/stuck.db"]) == 0
