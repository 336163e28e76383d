"""Which DaemonSets a change of a node concerns: TestUpdateNode of Kubernetes' daemon_controller_test.go."""

from __future__ import annotations

import pytest

from pilotage.types.apps.v1 import DaemonSetStatus
from pilotage.types.core.v1 import Taint
from pilotage.workloads.daemonsets.nodes import concerns
from pilotage.workloads.nodes.view import NodeView
from tests.workloads.daemonsets.simulation import daemon_set, node

NO_SCHEDULE, NO_EXECUTE = Taint(key="a", effect="NoSchedule"), Taint(key="a", effect="NoExecute")


@pytest.mark.parametrize(
    ("now", "is_running", "misplaced", "expected"),
    [
        (node(), False, 0, False),  # not selected
        (node(disk="ssd"), False, 0, True),  # needs a Pod
        (node(disk="ssd"), True, 0, False),  # has one
        (node(disk="ssd"), True, 1, True),  # its Pod may have been misplaced
        (node(), True, 0, True),  # has a Pod that must not stay
        (node("node-0", NO_SCHEDULE, disk="ssd"), False, 0, False),
        (node("node-0", NO_SCHEDULE, disk="ssd"), True, 0, False),
        (node("node-0", NO_EXECUTE, disk="ssd"), True, 0, True),
    ],
)
def test_update_node(now: NodeView, is_running: bool, misplaced: int, expected: bool) -> None:
    owner = daemon_set(disk="ssd")
    owner.status = DaemonSetStatus(
        current_number_scheduled=0, desired_number_scheduled=0, number_misscheduled=misplaced, number_ready=0
    )
    assert concerns(owner, now, is_running) is expected
