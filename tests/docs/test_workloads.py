"""The page of simulated workloads: an operator that knows nothing of them gets them by an option, and by a fixture."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from pilotage.testing import Environment
from pilotage.types.core.v1 import Node
from pilotage.workloads import WorkloadOptions
from pilotage.workloads.controllers import MODULES
from pilotage.workloads.faults.fault import EFFECTS, parse
from tests import forked
from tests.newcomer.page import Command, File, missing, steps

PAGE = Path(__file__).parents[2] / "docs" / "workloads.md"
TEXT = PAGE.read_text()
STEPS = list(steps(PAGE))
(RUN,) = (step for step in STEPS if isinstance(step, Command))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the files of the page: an operator, a Deployment and a test."""
    for step in STEPS:
        if isinstance(step, File):
            (tmp_path / step.path).write_text(step.content)
    assert "workloads" not in (tmp_path / "releases.py").read_text()
    return tmp_path


def test_an_operator_gets_workloads_by_an_option(folder: Path) -> None:
    _, *words = shlex.split(RUN.line)
    ran = forked.run("-m", "pilotage.cli", *words, folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert missing(RUN, ran.stdout) == [], ran.stdout
    assert "replicaset-controller" not in ran.stderr  # the log is that of the program


def test_an_operator_without_the_option_waits(folder: Path) -> None:
    words = [word for word in shlex.split(RUN.line)[1:] if word != "--simulate-workloads"]
    ran = forked.run("-m", "pilotage.cli", *words, folder=folder)
    assert ran.returncode == 0, ran.stderr
    assert missing(RUN, ran.stdout) != []


def test_an_operator_gets_workloads_by_a_fixture(folder: Path) -> None:
    ran = forked.run("-m", "pytest", "-p", "pilotage.testing.plugin", "test_releases.py", folder=folder)
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout


def rows(title: str, column: int = 1) -> list[str]:
    """The names in the first column of the table of a section."""
    section = TEXT.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    table = section[section.index("\n|---") :].partition("\n\n")[0].splitlines()[2:]
    return [name for row in table for name in re.findall(r"`([\w-]+)`", row.split("|")[column])]


@pytest.mark.parametrize(
    ("title", "names"), [("Faults", EFFECTS), ("Controllers", MODULES)], ids=["faults", "controllers"]
)
def test_the_page_lists_what_there_is(title: str, names: dict[str, Callable[..., object]]) -> None:
    assert sorted(rows(title)) == sorted(names)


def test_the_page_lists_the_options() -> None:
    table = TEXT.partition("`WorkloadOptions`:")[2].partition("\n\n##")[0]
    listed = [name for row in table.splitlines()[4:] for name in re.findall(r"`(\w+)`", row.split("|")[1])]
    assert sorted(listed) == sorted(WorkloadOptions.__dataclass_fields__)


def test_the_faults_of_the_page_can_be_read() -> None:
    texts = re.findall(r"--fault '([^']+)'|dev/fault: ([^`]+)`", TEXT)
    assert [parse(one or other).name for one, other in texts] == ["crash-loop"] * 2


async def test_the_page_shows_how_long_a_lost_node_is_ready(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads() as workloads:
        began = pilotage_env.clock()
        workloads.lose_node("node-1")

        async def status() -> str:
            node = await pilotage_env.client.get(Node, "node-1")
            assert node.status is not None
            return next(one.status for one in node.status.conditions if one.type == "Ready")

        await pilotage_env.eventually(status, equals="Unknown", timeout=300)
        (seconds,) = re.findall(r"NotReady after (\d+) seconds", TEXT)
        assert round((pilotage_env.clock() - began).total_seconds()) in range(int(seconds), int(seconds) + 6)
