"""An exploration finds, shrinks and repeats a failure, and reports what it has tried."""

from __future__ import annotations

import json
import uuid
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest

import pilotage as pt
from examples.test_chaos import Careful, Careless, scenario_with
from pilotage.errors import InvalidDefinition
from pilotage.testing import Environment, chaos
from pilotage.types.core.v1 import ConfigMap
from tests.testing.chaos.bugs import Reconciler, StatusLast, Store, create_store, scenario_of

LOST = chaos.Plan((chaos.Fault("killed-after", 1),), 1)


def test_the_first_failure_has_one_fault_its_difference_and_the_line_of_the_program() -> None:
    first = chaos.explore(scenario_with(Careless), plans=3).failures[0]
    assert [fault.kind for fault in first.plan.faults] == ["killed-after"]
    assert first.differences == ("Secret default/main: missing",)
    fault = next(number for number, line in enumerate(first.timeline) if "──" in line)
    assert "create ConfigMap default/main: took effect, without an answer" in first.timeline[fault - 1]
    assert "test_chaos.py" in first.timeline[fault - 1]
    assert "the program is started again" in first.timeline[fault + 1]


def test_a_plan_ends_in_the_same_way_each_time() -> None:
    first = chaos.replay(LOST, scenario_with(Careless))
    assert first is not None
    for _ in range(20):
        again = chaos.replay(LOST, scenario_with(Careless))
        assert again is not None
        assert (again, again.timeline) == (first, first.timeline)


def test_two_explorations_with_one_seed_report_the_same() -> None:
    reports = [chaos.explore(scenario_with(Careless), plans=60, seed=7) for _ in range(2)]
    assert reports[0].failures == reports[1].failures
    assert reports[0].tried == reports[1].tried


def test_a_plan_is_a_file(tmp_path: Path) -> None:
    LOST.save(tmp_path / "lost.json")
    assert chaos.Plan.load(tmp_path / "lost.json") == LOST
    assert chaos.replay(tmp_path / "lost.json", scenario_with(Careless)) is not None
    assert chaos.replay(tmp_path / "lost.json", scenario_with(Careful)) is None


def test_a_file_that_is_not_a_plan_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("{")
    with pytest.raises(InvalidDefinition, match=r"plan\.json is not a plan"):
        chaos.Plan.load(path)
    path.write_text('{"faults": [{"kind": "flood", "at": 1}]}')
    with pytest.raises(InvalidDefinition, match="unknown faults: flood; there are: killed-after"):
        chaos.Plan.load(path)
    with pytest.raises(InvalidDefinition, match="unknown faults: flood"):
        chaos.explore(scenario_with(Careful), faults=["flood"])


def test_a_failure_with_two_faults_is_shrunk_to_the_one_that_matters() -> None:
    from pilotage.testing.chaos import exploring
    from pilotage.testing.chaos.runs import ScenarioRunner

    runner = ScenarioRunner(scenario_with(Careless))
    reference = exploring._learned(runner, 1)
    plan = chaos.Plan((chaos.Fault("throttled", 2), *LOST.faults), 1)
    failure = exploring._failure(runner.run(plan), reference)
    assert failure is not None
    assert exploring._shrunk(failure, runner, reference).plan.faults == LOST.faults


def test_when_single_faults_are_used_up_pairs_follow() -> None:
    report = chaos.explore(scenario_with(Careful), plans=40, faults=["killed-after", "conflict"])
    assert report.plans == 40
    assert report.pairs > 30
    assert not report.failures, str(report)


def test_a_scenario_that_fails_without_faults_raises_its_error() -> None:
    async def scenario(env: Environment) -> None:
        raise AssertionError("the test is wrong")

    with pytest.raises(AssertionError, match="the test is wrong") as found:
        chaos.explore(scenario)
    assert "without faults" in found.value.__notes__[0]


async def test_exploring_inside_a_running_loop_is_refused(pilotage_env: Environment) -> None:
    with pytest.raises(InvalidDefinition, match=r"inside a running event loop: call chaos\.explore in a plain"):
        chaos.explore(scenario_with(Careful))


def test_controllers_outside_of_the_setup_function_are_refused() -> None:
    async def scenario(env: Environment) -> None:
        pt.ControllerBuilder(env.manager).for_(ConfigMap).complete(Reconciler(env.manager))
        await env.run_until_idle()

    with pytest.raises(InvalidDefinition, match=r"controllers configmap are set up outside of running\(setup\)"):
        chaos.explore(scenario)


def test_a_program_without_a_setup_function_is_refused() -> None:
    async def scenario(env: Environment) -> None:
        async with env.running():
            pass

    with pytest.raises(InvalidDefinition, match="pass the function that sets it up"):
        chaos.explore(scenario)


def test_the_assertions_of_the_scenario_count() -> None:
    async def scenario(env: Environment) -> None:
        await scenario_with(Careless)(env)
        assert env.session.lives == 1, "it was started again"  # type: ignore[attr-defined]  # of the chaos environment

    report = chaos.explore(scenario, plans=1)
    assert report.failures[0].differences == ("the test fails: AssertionError: it was started again",)


def test_an_invariant_is_checked_after_every_write() -> None:
    def secret_first(objects: chaos.Objects) -> bool:
        from pilotage.types.core.v1 import Secret

        both = objects.find(ConfigMap, "main"), objects.find(Secret, "main")
        return both[0] is None or both[1] is not None

    with pytest.raises(AssertionError, match="the invariant secret_first does not hold, without faults"):
        chaos.explore(scenario_with(Careless), plans=1, invariants=[secret_first])
    assert not chaos.explore(scenario_with(Careful), plans=10, invariants=[secret_first]).failures


_numbers = count()


class Counts(StatusLast):
    """It does not follow the seed."""

    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        config = self.config(store, number=str(next(_numbers)))
        if await self.find(request.name) is None:
            await self.client.create(config)


def test_a_call_that_does_not_follow_the_seed_is_named_and_its_field_is_not_compared() -> None:
    report = chaos.explore(scenario_of(Counts, (create_store,)), plans=20)
    assert not report.failures, str(report)
    assert report.doubts == ("write 1 (create ConfigMap default/main): data.number",)
    assert "not deterministic: two runs with seed 1 differ at write 1" in str(report)


class Generates(Reconciler):
    """It stores an id and a time."""

    async def reconcile(self, request: pt.Request) -> None:
        store = await self.client.get(Store, request)
        if await self.find(request.name) is None:
            now = self.manager.clock().astimezone(UTC)
            await self.client.create(self.config(store, id=str(uuid.uuid4()), day=f"{now:%A %d}"))


def test_values_that_differ_between_seeds_and_days_are_not_compared() -> None:
    report = chaos.explore(scenario_of(Generates, (create_store,)), plans=40)
    assert not report.failures, str(report)
    assert report.masks == 2
    assert not report.doubts


def test_a_report_is_text_and_json() -> None:
    report = chaos.explore(scenario_with(Careless), plans=12)
    text = str(report)
    assert text.startswith("chaos scenario_with.<locals>.scenario: 12 plans in ")
    assert "2 killed-after" in text
    assert "killed while a write is sent: the same as after it" in text
    document = json.loads(json.dumps(report.document()))
    assert document["failures"][0]["plan"]["faults"][0]["kind"] == "killed-after"
    assert document["plans"] == 12


def test_a_scenario_without_a_write_has_no_plans() -> None:
    async def setup(manager: pt.Manager) -> None:
        pass

    async def scenario(env: Environment) -> None:
        async with env.running(setup):
            await env.run_until_idle()

    assert chaos.explore(scenario).plans == 0


def test_the_wall_clock_follows_virtual_time() -> None:
    import time

    seen: list[float] = []

    async def scenario(env: Environment) -> None:
        seen.append(time.time())

    chaos.explore(scenario)
    assert {datetime.fromtimestamp(each, UTC).year for each in seen} == {2024}
    assert time.time() > datetime(2025, 1, 1, tzinfo=UTC).timestamp()
