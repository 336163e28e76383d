"""The operators of the examples end in the same way under faults: no false alarms."""

from __future__ import annotations

import pytest

from pilotage.testing import chaos
from tests.faults.operators import OPERATORS
from tests.testing.chaos.examples import scenario_of

ALARMS = {"chaospod": "it deletes a Pod whenever it does not know its time: that is what it is for"}


@pytest.mark.parametrize("name", sorted(OPERATORS.keys() - ALARMS.keys()))
def test_an_example_survives(name: str) -> None:
    report = chaos.explore(scenario_of(name), plans=15)
    assert not report.failures, str(report)
    assert not report.doubts


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", sorted(OPERATORS.keys() - ALARMS.keys()))
def test_an_example_survives_a_thousand_plans(name: str, many_plans: int) -> None:
    report = chaos.explore(scenario_of(name), plans=many_plans)
    assert not report.failures, str(report)


def test_a_chaos_pod_deletes_its_pod_whenever_it_is_interrupted() -> None:
    report = chaos.explore(scenario_of("chaospod"), plans=15)
    differences = {text for failure in report.failures for text in failure.differences}
    assert differences == {"Pod default/chaos: deleted by the program 1 time, undisturbed 0"}
