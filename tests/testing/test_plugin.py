"""The pytest plugin, in separate runs of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from pilotage.testing import plugin

from .. import forked

COMMAND = ["-m", "pytest", "-p", "no:cacheprovider", "-p", "pilotage.testing.plugin"]
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # other plugins take time
TEST = """
import asyncio
import pytest
import pilotage as pt
from pilotage.testing import Environment
from pilotage.types.core.v1 import ConfigMap


async def test_a_reconciler_that_is_wrong(pilotage_env: Environment) -> None:
    async def reconcile(request: pt.Request) -> None:
        raise KeyError("the mistake")

    pt.ControllerBuilder(pilotage_env.manager).for_(ConfigMap).complete(reconcile)
    await pilotage_env.given(ConfigMap(metadata=pt.ObjectMeta(name="one", namespace="default")))
    async with pilotage_env.running():
        await pilotage_env.eventually(lambda: pilotage_env.client.find(ConfigMap, "two", namespace="default"))


async def test_the_order_of_tasks(pilotage_env: Environment) -> None:
    order = []

    async def step(name: str) -> None:
        order.append(name)

    async with asyncio.TaskGroup() as group:
        for name in "abcdef":
            group.create_task(step(name))
    print("order", "".join(order))


def test_that_is_not_async(pilotage_env: Environment, fixture_that_is_async: str) -> None:
    assert fixture_that_is_async == "value"


@pytest.fixture
async def fixture_that_is_async(pilotage_env: Environment) -> str:
    await pilotage_env.client.list(ConfigMap)
    return "value"
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return forked.run(*COMMAND, *options, folder=folder, environment=os.environ | ALONE)


def test_a_failed_test_shows_the_errors_of_reconcilers_and_the_seed_that_repeats_it(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    first = run(tmp_path, "--pilotage-seed=random", "-rP")
    assert "1 failed, 2 passed" in first.stdout
    assert '`pilotage_env.client.find(ConfigMap, "two", namespace="default")` is true; last value: None' in first.stdout
    shown = first.stdout.partition("- pilotage -")[2]
    assert "configmap default/one" in shown
    assert "KeyError: 'the mistake'" in shown
    assert "in reconcile\n" in shown
    seed = shown.partition("--pilotage-seed=")[2].split()[0]
    again = run(tmp_path, f"--pilotage-seed={seed}", "-rP", "-k", "order")
    assert _order(again.stdout) == _order(first.stdout)


STORIES = """
import pilotage as pt
from pilotage.testing import Environment
from pilotage.types.core.v1 import ConfigMap, Secret


def given(name: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default"), data={"password": "swordfish"})


async def test_it(pilotage_env: Environment) -> None:
    client = pilotage_env.manager.client

    async def reconcile(request: pt.Request) -> None:
        found = await client.get(ConfigMap, request)
        if request.name == "copied":
            meta = pt.ObjectMeta(name="copy", namespace="default")
            await pt.create_or_patch(client, Secret(metadata=meta, string_data=found.data))
        if request.name == "fails":
            raise KeyError("the mistake")

    pt.ControllerBuilder(pilotage_env.manager).for_(ConfigMap).complete(reconcile)
    await pilotage_env.given(*(given(f"c{number}") for number in range(30)), given("copied"), given("fails"))
    try:
        await pilotage_env.run_until_idle(timeout=100)
    except pt.NotIdle:
        pass
    assert False
"""


def test_a_failed_test_shows_its_last_reconciles_a_few_of_each_object_without_secrets(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(STORIES)
    shown = run(tmp_path).stdout
    story = shown.partition("- pilotage: reconciles -")[2]
    assert "the last 20 of " in story
    assert story.count("configmap default/fails") == 3
    assert "result   error: KeyError: 'the mistake' at test_it.py:" in story
    assert "default/c29  #" in story or "default/c0  #" in story
    assert "wrote    create Secret default/copy: data.password: 'hash " in story
    assert "swordfish" not in story


CALLS = """
import pilotage as pt
from pilotage.testing import Environment
from pilotage.types.core.v1 import ConfigMap


async def test_of_an_object_that_is_not_there(pilotage_env: Environment) -> None:
    await pilotage_env.client.get(ConfigMap, "missing", namespace="default")
"""


def test_a_traceback_ends_at_the_line_of_the_test_unless_all_of_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(CALLS)
    shown = run(tmp_path).stdout
    assert '>       await pilotage_env.client.get(ConfigMap, "missing", namespace="default")\nE   ' in shown
    assert "/pilotage/" not in shown
    assert "/pilotage/client/" in run(tmp_path, "--full-trace").stdout


def _order(output: str) -> str:
    return next(line for line in output.splitlines() if line.startswith("order "))


def test_a_test_that_waits_for_ever_fails_and_shows_where(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import asyncio\n"
        "async def test_it(pilotage_env):\n"
        "    async with pilotage_env.running():\n"
        "        await asyncio.Event().wait()\n"
    )
    ran = run(tmp_path, "--pilotage-timeout=3600")
    assert "TimeoutError: the test has not ended after 1:00:00 (--pilotage-timeout); it waits here" in ran.stdout
    assert ">       await asyncio.Event().wait()" in ran.stdout.replace(">           await", ">       await")


def test_a_run_without_its_fixtures_imports_nothing_of_pilotage_but_the_plugin(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import sys\n"
        "def test_it():\n"
        "    assert sorted(name for name in sys.modules if name.startswith('pilotage')) == [\n"
        "        'pilotage', 'pilotage.lazyexports', 'pilotage.testing', 'pilotage.testing.plugin']\n"
        "    assert sys.version_info >= (3, 14) or 'asyncio' not in sys.modules\n"  # there, pytest's pdb loads it
    )
    command = [sys.executable, *COMMAND]
    ran = subprocess.run(command, cwd=tmp_path, env=os.environ | ALONE, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout
    assert "not a number, nor random" in run(tmp_path, "--pilotage-seed=x").stderr


def test_every_fixture_of_the_plugin_has_a_name_that_other_plugins_do_not_use() -> None:
    found = [name for name, value in vars(plugin).items() if type(value).__name__ == "FixtureFunctionDefinition"]
    assert "pilotage_env" in found
    assert [name for name in found if not name.lstrip("_").startswith("pilotage_")] == []


def test_a_failed_test_leaves_its_page_where_asked_for(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "page.html").write_text("<!doctype html><html><head><title>x</title></head></html>")
    (tmp_path / "conftest.py").write_text(
        "from pathlib import Path\n"
        "from pilotage.dashboard import page\n"
        "page.FILE = Path(__file__).with_name('page.html')\n"
    )
    shown = run(tmp_path, "--pilotage-report=reports/pages").stdout
    assert [path.name for path in (tmp_path / "reports" / "pages").iterdir()] == [
        "test_it.test_a_reconciler_that_is_wrong.html"
    ]
    assert "reports/pages/test_it.test_a_reconciler_that_is_wrong.html" in shown
    page = (tmp_path / "reports" / "pages" / "test_it.test_a_reconciler_that_is_wrong.html").read_text()
    assert "KeyError: 'the mistake'" in page
    assert "last value: None" in page, "the failure of the test"


def test_a_page_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(TEST)
    (tmp_path / "file").write_text("")
    shown = run(tmp_path, "--pilotage-report=file", "-k", "wrong").stdout
    assert "no page was written: " in shown
    assert "1 failed" in shown
