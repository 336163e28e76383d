"""Chaos finds the published bugs of the hall, and reports nothing in their fixed forms."""

from __future__ import annotations

import pytest

from pilotage.manager.errors import NotIdle
from pilotage.manager.options import ManagerOptions
from pilotage.testing import chaos
from tests.chaos.hall import HALL
from tests.chaos.hall.kit import Bug, Setup

EACH = pytest.mark.parametrize("bug", HALL, ids=str)
QUICK = pytest.mark.parametrize("bug", [bug for bug in HALL if not bug.slow], ids=str)
"""The bugs of operators without workloads; the others are found by a long test."""
OWN_WRITES = pytest.mark.parametrize("bug", [bug for bug in HALL if bug.kind == "own write"], ids=str)
READS = pytest.mark.parametrize("reads", [True, False], ids=["own-writes-read", "own-writes-not-read"])
FEW, SOME, ALL = 20, 60, 250


def explored(bug: Bug, setup: Setup, plans: int, *faults: str, reads: bool = True) -> chaos.Report:
    options = ManagerOptions(handle_signals=False, read_your_writes=reads)
    return chaos.explore(bug.scenario(setup), plans=plans, seed=1, faults=faults, options=options)


def found(bug: Bug, plans: int, *faults: str, reads: bool = True) -> list[str]:
    """The differences of single faults, or the error of a run without faults."""
    try:
        report = explored(bug, bug.broken, plans, *faults, reads=reads)
    except (AssertionError, NotIdle) as error:
        return [str(error)]
    return [one.difference for one in report.failures if len(one.plan.faults) == 1]


@QUICK
def test_a_published_bug_is_found(bug: Bug) -> None:
    differences = found(bug, SOME if bug.kind == "stale" else FEW, *filter(None, [bug.fault]))
    assert any(bug.difference in one for one in differences), differences


@OWN_WRITES
def test_a_write_that_the_program_does_not_see_is_found_where_reads_do_not_wait(bug: Bug) -> None:
    differences = found(bug, SOME, "late", "hidden", reads=False)
    assert any(bug.difference in one for one in differences), differences


@OWN_WRITES
def test_the_defaults_prevent_that_a_program_does_not_see_its_writes(bug: Bug) -> None:
    assert bug.prevented
    assert not found(bug, SOME, "late", "hidden", "repeated", "relist")


@QUICK
def test_the_fixed_form_survives(bug: Bug) -> None:
    report = explored(bug, bug.fixed, FEW)
    assert not report.failures, str(report)


@pytest.mark.long
@pytest.mark.timeout(3600)
@READS
@EACH
def test_a_published_bug_is_found_among_all_faults(bug: Bug, reads: bool) -> None:
    differences = found(bug, ALL, reads=reads)
    assert any(bug.difference in one for one in differences), differences


@pytest.mark.long
@pytest.mark.timeout(3600)
@READS
@EACH
def test_the_fixed_form_survives_many_plans(bug: Bug, reads: bool, many_plans: int) -> None:
    report = explored(bug, bug.fixed, many_plans, reads=reads)
    assert not report.failures, str(report)
