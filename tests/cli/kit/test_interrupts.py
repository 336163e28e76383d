"""Ctrl-C while the reconcilers of a command run."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator

import pytest

import pilotage as pt
from tests.cli.kit.tools import Console, Todo, setup


class Waiting(logging.Handler):
    """Set when the shutdown waits for the work that runs."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()

    def emit(self, record: logging.LogRecord) -> None:
        if "Phase 2" in str(record.msg):
            self.reached.set()


class InterruptedReconciler:
    """Ctrl-C is pressed once, and again in the middle of the shutdown for an object with the text `twice`."""

    def __init__(self, manager: pt.Manager, waiting: Waiting) -> None:
        self.client = manager.client
        self._waiting = waiting

    async def reconcile(self, request: pt.Request) -> pt.Result:
        todo = await self.client.get(Todo, request)
        signal.raise_signal(signal.SIGINT)
        await self._waiting.reached.wait()
        if todo.spec.text == "twice":
            signal.raise_signal(signal.SIGINT)
            await asyncio.Event().wait()
        await self.client.patch_status(todo, {"status": {"phase": "Done"}})
        return pt.Result()


@pytest.fixture
def interrupted(todo: Console) -> Iterator[Console]:
    waiting = Waiting()
    logging.getLogger("pilotage.manager").addHandler(waiting)
    todo.tool.setup = lambda manager: (
        pt.ControllerBuilder(manager).for_(Todo).complete(InterruptedReconciler(manager, waiting))
    )
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    yield todo
    signal.signal(signal.SIGINT, before)
    logging.getLogger("pilotage.manager").removeHandler(waiting)


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
