"""When a Pod leaves a tainted node, decided without a server."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from pilotage.types.core.v1 import Taint, Toleration
from pilotage.workloads.tainteviction.reconciler import Planned, next_plan, tolerated_for

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FOREVER = timedelta.max


def taints(count: int) -> list[Taint]:
    return [
        Taint(key=f"testTaint{number}", effect="NoExecute", value=f"test{number}") for number in range(1, count + 1)
    ]


def toleration(number: int, seconds: int | None = None) -> Toleration:
    return Toleration(key=f"testTaint{number}", value=f"test{number}", effect="NoExecute", toleration_seconds=seconds)


@pytest.mark.parametrize(
    ("count", "tolerations", "seconds"),
    [
        (1, [], 0),
        (1, [toleration(1, 100)], 100),
        (1, [toleration(1)], None),
        (1, [toleration(2)], 0),
        (1, [toleration(1, 0)], 0),
        (1, [toleration(1, -5)], 0),
        (2, [toleration(1, 100)], 0),
        (2, [toleration(1, 1), toleration(2, 100)], 1),
        (2, [toleration(1, 1), toleration(2)], 1),
        (2, [toleration(1), toleration(2, 1)], 1),
        (2, [toleration(1), toleration(2)], None),
        (1, [toleration(1, 10), toleration(1, 5)], 10),
        (1, [Toleration(operator="Exists")], None),
    ],
    ids=[
        "no toleration",
        "finite toleration",
        "infinite toleration",
        "infinite invalid toleration",
        "no time at all",
        "negative time",
        "only one taint is tolerated",
        "the first one runs out",
        "a finite and an infinite one",
        "an infinite and a finite one",
        "all infinite",
        "the first that fits counts",
        "everything",
    ],
)
def test_a_pod_tolerates_taints_for_the_shortest_time(
    count: int, tolerations: list[Toleration], seconds: int | None
) -> None:
    wanted = timedelta(seconds=seconds) if seconds is not None else FOREVER
    assert tolerated_for(taints(count), tolerations) == wanted


@pytest.mark.parametrize(
    ("planned", "tolerated", "wanted"),
    [
        (None, FOREVER, None),
        (None, timedelta(0), Planned("uid", NOW)),
        (None, timedelta(seconds=9), Planned("uid", NOW + timedelta(seconds=9))),
        (Planned("uid", NOW + timedelta(seconds=5)), FOREVER, None),
        (Planned("uid", NOW + timedelta(seconds=5)), timedelta(0), Planned("uid", NOW)),
        (Planned("uid", NOW + timedelta(seconds=5)), timedelta(seconds=9), Planned("uid", NOW + timedelta(seconds=5))),
        (Planned("uid", NOW + timedelta(seconds=5)), timedelta(seconds=1), Planned("uid", NOW + timedelta(seconds=5))),
    ],
)
def test_a_plan_is_kept_while_the_pod_tolerates_for_a_while(
    planned: Planned | None, tolerated: timedelta, wanted: Planned | None
) -> None:
    assert next_plan(planned, "uid", tolerated, NOW) == wanted
