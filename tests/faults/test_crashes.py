"""A controller that is killed at any of its writes, or loses an answer, reaches the same state after its restart."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path

import pytest

import examples
import pilotage as pt
from examples import database
from pilotage.errors import Conflict, ConnectionLost
from pilotage.rest import APIRequest, Transport

from .network import R, Send
from .operators import DATABASE, NO_WRITES, OPERATORS, setup_of
from .simulation import CrashingLink, Outcome, simulate

EACH = pytest.mark.parametrize("name", OPERATORS)


class Fault(Enum):
    """What happens at one write."""

    KILLED_BEFORE = "killed before the write is sent"
    KILLED_AFTER = "killed after the server has committed it"
    ANSWER_LOST = "committed, and the connection is lost before the answer"
    CONFLICT = "refused with a conflict"


class FaultyLink(CrashingLink):
    """Commits one fault at the n-th write, from 1."""

    def __init__(self, server: Transport, fault: Fault | None = None, at: int = 0) -> None:
        super().__init__(server)
        self.writes = 0
        self._fault, self._at = fault, at

    async def write(self, request: APIRequest, send: Send[R]) -> R:
        self.writes += 1
        if self.writes != self._at:
            return await send()
        match self._fault:
            case Fault.CONFLICT:
                raise Conflict("injected")
            case Fault.KILLED_BEFORE:
                self.crash()
                await asyncio.Event().wait()
            case Fault.KILLED_AFTER:
                await send()
                self.crash()
                await asyncio.Event().wait()
        await send()
        raise ConnectionLost("injected: the answer is lost")


@cache
def reference(name: str) -> tuple[Outcome, int]:
    """The outcome without faults, and the number of writes."""
    links: list[FaultyLink] = []

    def link(server: Transport, _: int) -> FaultyLink:
        links.append(FaultyLink(server))
        return links[-1]

    outcome = simulate(OPERATORS[name], link)
    return outcome, links[0].writes


def check(name: str, fault: Fault, at: int, seed: int = 0) -> bool:
    """Check the outcome of one fault; returns False if there was no such write."""
    expected, _ = reference(name)
    links: list[FaultyLink] = []

    def link(server: Transport, life: int) -> FaultyLink:
        links.append(FaultyLink(server, fault, at) if life == 0 else FaultyLink(server))
        return links[-1]

    outcome = simulate(OPERATORS[name], link, seed)
    happened = links[0].writes >= at
    plan = f"{name}: {fault.value}, write {at}, seed {seed}"
    assert outcome.state == expected.state, plan
    assert outcome.still == OPERATORS[name].rests, f"{plan}: it does not come to rest"
    assert outcome.lives == (2 if happened and fault in (Fault.KILLED_BEFORE, Fault.KILLED_AFTER) else 1), plan
    return happened


def check_every_write(name: str, fault: Fault, seed: int = 0) -> int:
    """Returns the number of writes. The order of tasks decides how many there are."""
    return next(at for at in range(1, 1000) if not check(name, fault, at, seed)) - 1


@EACH
def test_without_faults_an_operator_writes_and_comes_to_rest(name: str) -> None:
    outcome, writes = reference(name)
    assert writes > 0
    assert outcome.state
    assert outcome.still == OPERATORS[name].rests


@pytest.mark.covers("F2")
@EACH
def test_a_kill_after_any_write_leads_to_the_same_state(name: str) -> None:
    """The program knows nothing of its last write. The other faults are in the long form."""
    assert check_every_write(name, Fault.KILLED_AFTER) > 0


@pytest.mark.covers("F2")
@pytest.mark.long
@pytest.mark.timeout(600)
@EACH
@pytest.mark.parametrize("fault", Fault, ids=lambda fault: fault.name.lower())
def test_every_fault_at_any_write_leads_to_the_same_state_in_any_order_of_tasks(name: str, fault: Fault) -> None:
    assert all(check_every_write(name, fault, seed) > 0 for seed in range(20))


class StatusFirst(database.DatabaseReconciler):
    """A defect on purpose: it reports that the work is done before it is."""

    async def reconcile(self, request: pt.Request) -> pt.Result:
        found = await self.client.get(database.Database, request)
        if found.status is None:
            await self.client.patch_status(found, {"status": {"phase": "Running"}})
            await pt.create_or_patch(self.client, database.stateful_set_for(found), owner=found)
        return pt.Result()


def test_the_simulation_finds_a_reconciler_that_writes_the_status_before_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    defect = replace(DATABASE, setup=setup_of(StatusFirst), steps=DATABASE.steps[:1])
    monkeypatch.setitem(OPERATORS, "defect", defect)
    with pytest.raises(AssertionError, match="defect: killed after the server has committed it, write 1"):
        check("defect", Fault.KILLED_AFTER, 1)


def test_every_example_with_a_controller_is_simulated() -> None:
    folder = Path(examples.__path__[0])
    found = {
        path.parent.name if path.parent != folder else path.stem
        for path in folder.rglob("*.py")
        if "Builder(" in path.read_text()
    }
    assert found | {"demo"} == OPERATORS.keys() | NO_WRITES.keys(), "add the example to tests/faults/operators.py"
