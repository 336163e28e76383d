"""Chaos reports nothing about correct reconcilers."""

from __future__ import annotations

import pytest

from pilotage.manager.options import ManagerOptions
from pilotage.testing import chaos
from tests.chaos.correct import CORRECT, Reconciler, scenario_of

EACH = pytest.mark.parametrize("reconciler", CORRECT, ids=lambda one: one.__name__)


@EACH
def test_a_correct_reconciler_survives(reconciler: type[Reconciler]) -> None:
    report = chaos.explore(scenario_of(reconciler), plans=10, seed=1)
    assert not report.failures, str(report)


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("reads", [True, False], ids=["own-writes-read", "own-writes-not-read"])
@EACH
def test_a_correct_reconciler_survives_many_plans(reconciler: type[Reconciler], reads: bool, many_plans: int) -> None:
    options = ManagerOptions(handle_signals=False, read_your_writes=reads)
    report = chaos.explore(scenario_of(reconciler), plans=many_plans, seed=1, options=options)
    assert not report.failures, str(report)
