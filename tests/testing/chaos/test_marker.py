"""Tests with the marker `pilotage_chaos`, in separate runs of pytest."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from tests import forked

COMMAND = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "pilotage.testing.plugin", "--strict-markers"]
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
TEST = """
import pytest
import pilotage as pt
from pilotage.testing import Environment, chaos
from pilotage.types.core.v1 import ConfigMap, Secret

made = []


@pytest.fixture
def number() -> int:
    made.append(1)
    return len(made)


@pytest.fixture(scope="module")
def shared() -> list[int]:
    return []


async def setup(manager: pt.Manager) -> None:
    client = manager.client

    async def reconcile(request: pt.Request) -> None:
        source = await client.find(ConfigMap, request)
        if source is None or "copy" not in source.data:
            return
        for suffix in ("a", "b") if await client.find(Secret, "a", namespace="default") is None else ():
            await client.create(Secret(metadata=pt.ObjectMeta(name=suffix, namespace="default")))

    pt.ControllerBuilder(manager).for_(ConfigMap).complete(reconcile)


async def copy(env: Environment) -> None:
    async with env.running(setup):
        meta = pt.ObjectMeta(name="one", namespace="default")
        await env.client.create(ConfigMap(metadata=meta, data={"copy": "yes"}))
        await env.run_until_idle()


@pytest.mark.pilotage_chaos(plans=4)
async def test_both_are_there(pilotage_env: Environment, number: int, shared: list[int]) -> None:
    shared.append(number)
    await copy(pilotage_env)


def test_fixtures_are_made_again_for_each_plan(shared: list[int]) -> None:
    assert shared == list(range(1, len(shared) + 1))
    assert len(shared) >= 7  # three undisturbed runs, and four plans


async def test_without_the_marker(pilotage_env: Environment) -> None:
    await copy(pilotage_env)


@pytest.mark.pilotage_chaos
async def test_that_is_skipped(pilotage_env: Environment) -> None:
    pytest.skip("not today")


@pytest.mark.pilotage_chaos
async def test_without_a_program(pilotage_env: Environment) -> None:
    await pilotage_env.client.list(ConfigMap)
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(TEST)
    return forked.run(*COMMAND, "-rs", *options, folder=folder, environment=os.environ | ALONE)


def test_the_body_of_a_test_is_the_scenario_and_its_failure_is_the_report(tmp_path: Path) -> None:
    ran = run(tmp_path, "--pilotage-report=found", "--junit-xml=results.xml")
    assert "2 failed, 2 passed, 1 skipped" in ran.stdout, ran.stdout
    assert "chaos test_it.py::test_both_are_there: 4 plans in " in ran.stdout
    assert "1. FAIL killed after write 1 (create Secret default/a)" in ran.stdout
    assert "difference  Secret default/b: missing" in ran.stdout
    assert "chaos has no program to disturb" in ran.stdout
    assert "not today" in ran.stdout
    assert "Secret default/b: missing" in (tmp_path / "results.xml").read_text()
    (plan,) = [path for path in (tmp_path / "found").iterdir() if path.name.endswith("1.plan.json")]
    assert json.loads(plan.read_text())["faults"][0]["kind"] == "killed-after"

    again = run(tmp_path, f"--pilotage-chaos-plan={plan}", "-k", "both or skipped")
    assert "1 failed, 1 skipped" in again.stdout
    assert "FAIL killed after write 1" in again.stdout
    assert "is a plan of test_it.py::test_both_are_there" in again.stdout


def test_options_change_how_many_plans_are_tried(tmp_path: Path) -> None:
    ran = run(tmp_path, "--pilotage-chaos-plans=9", "-k", "both")
    assert "test_both_are_there: 9 plans in" in ran.stdout, ran.stdout
    ran = run(tmp_path, "--pilotage-chaos=quick", "--pilotage-chaos-all", "-k", "without_the_marker")
    assert "test_without_the_marker: 25 plans in" in ran.stdout, ran.stdout
