"""No key is worked on by two replicas at once, whatever clocks, networks and stopped processes do to them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from pilotage.manager.election.tenure import Tenure
from pilotage.manager.shards.ownership import Ownership

from ..simulation import Conditions
from .simulation import OTHERS, OURS, Outcome, Server, Session, simulate

MANY = [range(first, first + 500) for first in range(0, 10_000, 500)]
BOTH = pytest.mark.parametrize("conditions", [OURS, OTHERS], ids=["ours", "others"])


def total(conditions: Conditions, seeds: Iterable[int]) -> Outcome:
    outcome = Outcome()
    for seed in seeds:
        outcome += simulate(conditions, seed)
    return outcome


def found(conditions: Conditions) -> bool:
    """Whether a simulation finds a key with two workers; it ends with the first."""
    return any(simulate(conditions, seed).doubled for seed in range(100))


@pytest.mark.covers("F8", "F13", "F14")
@BOTH
def test_no_key_is_worked_on_by_two_replicas(conditions: Conditions) -> None:
    outcome = total(conditions, range(6))
    assert outcome.doubled == 0
    assert outcome.movements > 2  # and all that could go wrong did
    assert outcome.writes > 150
    assert outcome.members > 18


@pytest.mark.covers("F8", "F13", "F14")
@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seeds", MANY, ids=lambda seeds: str(seeds.start))
@BOTH
def test_no_key_is_worked_on_by_two_replicas_in_10_000_simulations(conditions: Conditions, seeds: range) -> None:
    assert total(conditions, seeds).doubled == 0


def test_the_simulation_finds_a_view_that_is_published_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Ownership, "may_publish", lambda *_: True)
    assert found(OTHERS)


def test_the_simulation_finds_a_member_that_ignores_the_views_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def owns(self: Ownership, key: str) -> bool:
        return self.confirmed and self.wanted.owner(key) == self.published.owner(key) == self.me

    monkeypatch.setattr(Ownership, "owns", owns)
    assert found(OTHERS)


def test_the_simulation_finds_a_member_that_does_not_check_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Tenure, "check", lambda _: None)
    assert found(OTHERS)


def test_the_simulation_finds_a_server_that_does_not_check_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Server.write

    def unchecked(self: Server, session: Session) -> None:
        self.fenced = False
        write(self, session)
        self.fenced = True

    monkeypatch.setattr(Server, "write", unchecked)
    assert found(OURS)
