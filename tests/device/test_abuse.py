"""Whatever one user sends, the calls of others take at most twice as long; `make bench-abuse` prints the figures."""

from __future__ import annotations

import os

import pytest

from hack.device.attacks import ATTACKS

from .abuse import BOUND, SPINNING, Abuse, ground, measure

SECONDS = 1.4
"""A hundred calls: the slowest one does not count."""
ROUNDS = 5
MEMORY = 80 << 20
NEWCOMER = 1000.0
"""Milliseconds in which somebody who connects meanwhile has an answer."""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: the attacker is another user than the client")


@pytest.mark.covers("S10", "S16")
@pytest.mark.parametrize("name", ATTACKS)
async def test_others_hardly_notice_an_attack(name: str) -> None:
    """There is a round that does no harm: a busy machine spoils some rounds, an attack that works spoils all."""
    rounds = []
    async with ground() as found:
        for _ in range(ROUNDS):
            abuse = Abuse(name)
            await measure(found, abuse, SECONDS, beside=name in SPINNING)
            rounds.append(abuse)
            newcomer = abuse.newcomers.percentile(100)
            if abuse.ratio <= BOUND and abuse.grown < MEMORY and newcomer < NEWCOMER:
                return
    raise AssertionError("\n".join(abuse.line() for abuse in rounds))
