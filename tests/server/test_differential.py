"""Ours against a real kube-apiserver: the same requests, the same answers.

What the real server answers is recorded in `answers/`, so that ours is compared with it where there is no real one.
`PILOTAGE_RECORD=1` with the `cluster` tests records again.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from hack.cluster.running import RealCluster
from pilotage.kubernetes.assembly import cluster_context
from pilotage.server.http.handler import HTTPHandler
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage

from .cases import SCENARIOS
from .differential import Difference, Scenario, differing, expected_of_ours
from .replaying import TOKEN, Answers, replay_on_ours, replay_on_real

NOW = datetime(2026, 1, 1, tzinfo=UTC)
"""Later than every time in the cases, which are compared as they are."""
ANSWERS = Path(__file__).parent / "answers"
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "differences.md"
DIFFERENCES: dict[str, dict[str, Difference]] = {
    name: {what: Difference(**known) for what, known in steps.items()}
    for name, steps in json.loads((Path(__file__).parent / "differences.json").read_text()).items()
}
by_name = pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)


@by_name
@pytest.mark.virtual_time
async def test_ours_answers_as_the_real_server_was_recorded(scenario: Scenario) -> None:
    # As the recorded server: no kube-controller-manager, and all admission plugins but ServiceAccount.
    context = cluster_context(MemoryStorage(), clock=lambda: NOW, disable=["ServiceAccount"])
    async with Registry(replace(context, controllers=frozenset(), contents=None)) as registry:
        answers = await replay_on_ours(scenario, HTTPHandler(registry, TOKEN))
    steps = [step for step in scenario.steps if step.until is None]
    wrong = []
    for step, real, ours in zip(steps, recorded(scenario), answers, strict=True):
        known = DIFFERENCES.get(scenario.name, {}).get(step.what)
        expected = expected_of_ours(known, real)
        if ours != expected:
            wrong.append(f"\n{step.what}: {step.method} {step.target}\n{difference(expected, ours)}")
        assert known is None or expected != real, f"{step.what}: is said to differ, but does not"
    assert not wrong, f"{len(wrong)} of {len(steps)} answers differ" + "".join(wrong)


@pytest.mark.cluster
def test_the_recorded_answers_are_the_real_servers(real_control_plane: RealCluster) -> None:
    with ThreadPoolExecutor(6) as threads:  # most of the time is the real server's waiting
        results = list(threads.map(lambda each: replay_on_real(each, real_control_plane), SCENARIOS))
    wrong = []
    for scenario, answers in zip(SCENARIOS, results, strict=True):
        if os.environ.get("PILOTAGE_RECORD"):
            path(scenario).write_text(json.dumps(answers, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
        for before, now in zip(recorded(scenario), answers, strict=True):
            if before != now:
                wrong.append(f"\n{scenario.name}: {now['what']}\n{difference(before, now)}")
    assert not wrong, "".join(wrong)


def test_every_difference_stands_in_the_documentation() -> None:
    rows = {line.split("|")[1].strip() for line in DOCUMENTATION.read_text().splitlines() if line.startswith("| ")}
    assert {known.reason for steps in DIFFERENCES.values() for known in steps.values()} <= rows


def test_every_difference_is_that_of_a_step() -> None:
    steps = {(scenario.name, step.what) for scenario in SCENARIOS for step in scenario.steps if step.until is None}
    assert {(name, what) for name, known in DIFFERENCES.items() for what in known} <= steps


def test_steps_of_a_scenario_have_names_of_their_own() -> None:
    for scenario in SCENARIOS:
        names = [step.what for step in scenario.steps if step.until is None]
        assert len(names) == len(set(names)), scenario.name


def test_a_scenario_is_recorded_once() -> None:
    assert {each.name for each in ANSWERS.iterdir()} == {path(scenario).name for scenario in SCENARIOS}


def path(scenario: Scenario) -> Path:
    return ANSWERS / f"{scenario.name}.json"


def recorded(scenario: Scenario) -> Answers:
    answers: Answers = json.loads(path(scenario).read_text())
    return answers


def difference(expected: Any, found: Any) -> str:
    """The places where two documents differ, one a line."""
    return "\n".join(
        f"  {where}\n    real: {json.dumps(one)}\n    ours: {json.dumps(other)}"
        for where, one, other in differing(expected, found)
    )
