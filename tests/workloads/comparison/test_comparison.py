"""Each scenario on Kubernetes' own controllers and on the simulated ones: the same objects after each step, the same
Events at the end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from hack.cluster.controllers import real_controllers
from hack.cluster.running import RealCluster, binaries
from pilotage.testing import loop as virtual
from tests.workloads.comparison.differences import EXPECTED
from tests.workloads.comparison.scenarios import SCENARIOS, Scenario
from tests.workloads.comparison.sides import Side, ours, theirs
from tests.workloads.comparison.snapshots import Leaf, Snapshot

pytestmark = pytest.mark.cluster
AGREEMENT = 0.99


@dataclass
class Record:
    """What a side had after each step, and its Events at the end."""

    steps: dict[str, Snapshot] = field(default_factory=dict)
    events: Snapshot = field(default_factory=Counter)


@pytest.fixture(scope="module")
def controlled(own_control_plane: RealCluster) -> Iterator[RealCluster]:
    """A real cluster with its controllers and scheduler."""
    found = binaries()
    assert not isinstance(found, str)
    with real_controllers(found, own_control_plane):
        yield own_control_plane


async def recorded(side: Side, scenario: Scenario) -> Record:
    record, namespace = Record(), scenario.name
    await side.namespace(namespace)
    for step in scenario.steps:
        await step.action(side, namespace)
        record.steps[step.name] = await side.settled(namespace)
    record.events = await side.events(namespace)
    return record


async def all_recorded(side: Side) -> dict[str, Record]:
    """All scenarios, each in its namespace: at the same time, and then those that change nodes, one after the other."""
    together = [scenario for scenario in SCENARIOS if not scenario.changes_nodes]
    found = dict(
        zip(
            (scenario.name for scenario in together),
            await asyncio.gather(*(recorded(side, scenario) for scenario in together)),
            strict=True,
        )
    )
    for scenario in SCENARIOS:
        if scenario.changes_nodes:
            found[scenario.name] = await recorded(side, scenario)
    return found


def differences(real: Snapshot, made: Snapshot) -> list[str]:
    """The leaves that only one side has: `-` the real one, `+` ours."""
    lines = [(leaf, "-") for leaf in (real - made).elements()] + [(leaf, "+") for leaf in (made - real).elements()]
    return [f"{mark} {' '.join(leaf)}" for leaf, mark in sorted(lines) if not is_expected(leaf)]


def is_expected(leaf: Leaf) -> bool:
    """Whether a difference is on purpose."""
    return any(pattern.search(" ".join(leaf)) for pattern in EXPECTED)


async def test_simulated_controllers_write_what_those_of_kubernetes_write(controlled: RealCluster) -> None:
    made = await asyncio.to_thread(_simulated)
    async with theirs(str(controlled.kubeconfig)) as side:
        real = await all_recorded(side)
    total = equal = 0
    problems: list[str] = []
    for name, record in real.items():
        pairs = [(step, snapshot, made[name].steps[step]) for step, snapshot in record.steps.items()]
        for step, there, here in [*pairs, ("Events", record.events, made[name].events)]:
            found = differences(there, here)
            total += max(there.total(), here.total())
            equal += max(there.total(), here.total()) - len(found)
            problems += [f"{name} / {step}: {line}" for line in found]
    print(f"{equal} of {total} leaves are equal ({equal / total:.2%})", *problems, sep="\n")
    assert equal / total >= AGREEMENT, "\n".join(problems)


def _simulated() -> dict[str, Record]:
    async def run() -> dict[str, Record]:
        async with ours() as side:
            return await all_recorded(side)

    return virtual.run(run())
