"""Replicas never write at the same time, whatever clocks, networks and stopped processes do to them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pilotage.manager.election.elector import LeaderElector
from pilotage.manager.election.resourcelock import LeaderElectionRecord
from pilotage.rest.fence import LeaderTerm

from .simulation import OTHERS, OURS, Conditions, Outcome, Server, simulate

FEW = range(25)
MANY = [range(first, first + 1000) for first in range(0, 100_000, 1000)]
BOTH = pytest.mark.parametrize("conditions", [OURS, OTHERS], ids=["ours", "others"])


def total(conditions: Conditions, seeds: Iterable[int]) -> Outcome:
    outcome = Outcome()
    for seed in seeds:
        outcome += simulate(conditions, seed)
    return outcome


def check(outcome: Outcome) -> None:
    assert (outcome.overlap, outcome.late, outcome.stale) == (0, 0, 0)


@pytest.mark.covers("F7", "F8", "F13", "F14")
@BOTH
def test_two_replicas_never_write_at_once(conditions: Conditions) -> None:
    outcome = total(conditions, FEW)
    check(outcome)
    assert outcome.takeovers > 10  # and all that could go wrong did
    assert outcome.writes > 300
    assert outcome.refused_here > 10
    assert (outcome.refused_there > 0) is conditions.fenced


@pytest.mark.covers("F7", "F8", "F13", "F14")
@pytest.mark.long
@pytest.mark.parametrize("seeds", MANY, ids=lambda seeds: str(seeds.start))
@BOTH
def test_two_replicas_never_write_at_once_in_100_000_simulations(conditions: Conditions, seeds: range) -> None:
    check(total(conditions, seeds))


def test_the_simulation_finds_a_deadline_that_counts_from_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    write = LeaderElector._write

    async def write_and_count_from_now(
        self: LeaderElector, record: LeaderElectionRecord, *, create: bool = False
    ) -> None:
        await write(self, record, create=create)
        self._tenure.extend(self._now())

    monkeypatch.setattr(LeaderElector, "_write", write_and_count_from_now)
    assert any(simulate(OTHERS, seed).overlap for seed in range(200))


def test_the_simulation_finds_a_client_that_does_not_check_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LeaderElector, "_check", lambda _: None)
    assert any(simulate(OTHERS, seed).late for seed in range(200))


def test_the_simulation_finds_a_server_that_does_not_check_the_term(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(self: Server, _: LeaderTerm | None, tenure: int) -> None:
        self.outcome.stale += tenure != self.tenure

    monkeypatch.setattr(Server, "write", write)
    assert any(simulate(OURS, seed).stale for seed in range(200))
