"""Each fault finds the mistake that it is for, and nothing in the correct form."""

from __future__ import annotations

import pytest

from pilotage.testing import chaos
from tests.testing.chaos.bugs import BUGS, Bug, scenario_of

EACH = pytest.mark.parametrize("bug", BUGS, ids=lambda bug: f"{bug.fault}-{bug.wrong.__name__}")


@EACH
def test_a_fault_finds_the_mistake_that_it_is_for(bug: Bug) -> None:
    scenario = scenario_of(bug.wrong, bug.steps, together=bug.together)
    report = chaos.explore(scenario, plans=30, seed=1, faults=[bug.fault])
    assert any(bug.difference in failure.difference for failure in report.failures), str(report)


@pytest.mark.parametrize("bug", [one for one in BUGS if one.right is not None], ids=lambda bug: bug.fault)
def test_the_correct_form_survives_all_faults(bug: Bug) -> None:
    assert bug.right is not None
    report = chaos.explore(scenario_of(bug.right, bug.steps), plans=60, seed=1)
    assert not report.failures, str(report)
