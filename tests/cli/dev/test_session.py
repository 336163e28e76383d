from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pilotage.cli.dev.options import DevOptions, run_flags
from pilotage.cli.dev.session import Session
from pilotage.kit.console.terminal import Terminal
from pilotage.tasks import cancel_all
from tests.cli.run.greetings import OPERATOR, write_object, write_operator
from tests.cli.run.jobs import JOBS, OBJECT

pytestmark = [pytest.mark.usefixtures("own_imports"), pytest.mark.virtual_time]
NOTED = OPERATOR.replace('data={"text": greeting.spec.text}', 'data={"text": greeting.spec.text, "note": "new"}')
FAILING = OPERATOR.replace('if greeting.spec.text == "bad"', "if greeting.spec.text")
NO_CONFIG_MAP = "\n".join(line for line in OPERATOR.splitlines() if "create_or_patch" not in line)

DEFAULTED = (
    OPERATOR.replace('text: str = "hello"', 'text: str = ""').replace(
        'print("greeted"', 'print("greeted", greeting.spec.text'
    )
    + """

class Webhook:
    async def default(self, greeting: Greeting) -> None:
        greeting.spec.text = greeting.spec.text or "first"


def setup(manager: pt.Manager) -> None:
    pt.WebhookBuilder(manager).for_(Greeting).with_defaulter(Webhook()).complete()
    GreetingReconciler(manager).setup_with_manager(manager)
"""
)


class Watched:
    """A session in a task, its terminal, and its file."""

    def __init__(self, operator: str, target: str) -> None:
        self.file = write_operator(Path(), operator)
        self.sample = write_object(Path())
        options = DevOptions(filename=[self.sample], ui=False, simulate_workloads=False, explain=False)
        self._output = io.StringIO()
        self.session = Session(target, "hello", options, run_flags(options, Path()), Terminal(self._output))

    async def until(self, text: str) -> str:
        """Everything printed since the last call, once it has the text."""
        async with asyncio.timeout(30):
            while text not in self._output.getvalue():  # noqa: ASYNC110 - of virtual time
                await asyncio.sleep(0.01)
        printed = self._output.getvalue()
        self._output.seek(0)
        self._output.truncate()
        return printed

    async def save(self, text: str, until: str = "after the save") -> list[str]:
        """Save the program, and return what is printed until a text, line by line."""
        self.file.write_text(text)
        return [line.strip() for line in (await self.until(until)).splitlines()]


@asynccontextmanager
async def dev(operator: str = OPERATOR, target: str = "hello.py") -> AsyncIterator[Watched]:
    """A session in which everything is reconciled."""
    watched = Watched(operator, target)
    running = asyncio.create_task(watched.session.run())
    try:
        await asyncio.sleep(1)
        yield watched
    finally:
        await cancel_all(running)


def without_time(line: str) -> str:
    return line.partition(", after")[0]


async def test_a_save_shows_what_is_written_differently() -> None:
    async with dev() as watched:
        heading, named, field, total = await watched.save(NOTED)
    assert heading == "hello.py saved"
    assert named == "ConfigMap default/world  (hello.py:24)"
    assert field == "data.note: (none) → 'new'"
    assert without_time(total) == "1 object written differently"


async def test_a_field_that_is_no_longer_written_is_named_with_its_value() -> None:
    async with dev(NOTED) as watched:
        lines = await watched.save(OPERATOR)
    assert lines[1:3] == ["ConfigMap default/world", "data.note: 'new'  (no longer written, and stays)"]


async def test_an_object_that_is_no_longer_written_is_named() -> None:
    async with dev() as watched:
        lines = await watched.save(NO_CONFIG_MAP)
    assert lines[1] == "ConfigMap default/world is no longer written, and stays"


async def test_a_save_that_changes_no_write_says_so() -> None:
    async with dev() as watched:
        lines = await watched.save(OPERATOR + "\n# a comment\n")
    assert [without_time(line) for line in lines[1:]] == ["no write differs"]


async def test_each_version_is_compared_with_the_one_before() -> None:
    async with dev() as watched:
        await watched.save(NOTED)
        lines = await watched.save(NOTED.replace('"new"', '"newer"'))
    assert lines[2] == "data.note: 'new' → 'newer'"


async def test_a_change_of_a_kind_shows_in_its_definition() -> None:
    async with dev() as watched:
        lines = await watched.save(OPERATOR.replace('text: str = "hello"', 'text: str = "hello"\n    size: int = 1'))
    assert lines[1] == "CustomResourceDefinition greetings.greetings.pilotage.dev"
    assert lines[2].startswith("spec.versions[v1].schema.openAPIV3Schema.properties.spec.properties.size")


async def test_an_error_of_a_reconcile_is_shown_once_with_its_line() -> None:
    async with dev() as watched:
        lines = await watched.save(FAILING)
    assert lines[1] == "greeting default/world failed: ValueError: the text is bad  (hello.py:22)"
    assert "failed)" in lines[2]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (f"{OPERATOR}\ndef broken(:\n", "hello.py, line 30: invalid syntax; the old code continues"),
        (f"import nothing\n{OPERATOR}", "hello.py cannot be imported: ModuleNotFoundError: No module named 'nothing'"),
        (f"{OPERATOR}\ndef setup(manager):\n    raise ValueError('no')\n", "hello.py cannot be set up: ValueError: no"),
    ],
    ids=["syntax", "import", "setup"],
)
async def test_code_that_cannot_be_loaded_is_one_line_and_the_old_code_continues(
    text: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async with dev() as watched:
        heading, line = await watched.save(text, "the old code continues")
        capsys.readouterr()
        write_object(Path(), text="bonjour")
        await watched.until("world.yaml saved")
        await asyncio.sleep(1)
        assert "greeted world" in capsys.readouterr().out
        assert (heading, problem in line) == ("hello.py saved", True)
        lines = await watched.save(NOTED)
        assert "data.note: (none) → 'new'" in lines


async def test_a_program_that_cannot_be_loaded_at_first_starts_when_it_is_fixed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with dev("def broken(:\n") as watched:
        assert "hello.py, line 1: invalid syntax; waiting until it is fixed" in await watched.until("waiting")
        watched.file.write_text(OPERATOR)
        await watched.until("saved")
        await asyncio.sleep(1)
        assert "greeted world" in capsys.readouterr().out


async def test_a_program_that_fails_starts_again_when_it_is_saved(capsys: pytest.CaptureFixture[str]) -> None:
    ending = OPERATOR + "\n\ndef setup(manager):\n    async def fail():\n        raise ValueError('over')\n"
    ending += "    manager.add(fail)\n"
    async with dev() as watched:
        lines = await watched.save(ending, "starts again")
        assert "ValueError: over" in lines[-1]
        lines = await watched.save(OPERATOR)
        assert without_time(lines[-1]) == "no write differs"


async def test_samples_are_applied_again_when_they_change(capsys: pytest.CaptureFixture[str]) -> None:
    async with dev() as watched:
        capsys.readouterr()
        write_object(Path(), text="bonjour")
        await watched.until("world.yaml saved")
        await asyncio.sleep(1)
        assert capsys.readouterr().out.count("greeted world") == 1


async def test_a_sample_that_cannot_be_applied_is_one_line() -> None:
    async with dev() as watched:
        watched.sample.write_text("kind: [")
        assert "pilotage: " in await watched.until("world.yaml:")


async def test_the_webhooks_of_the_new_code_are_called(capsys: pytest.CaptureFixture[str]) -> None:
    async with dev(DEFAULTED) as watched:
        watched.sample.write_text(watched.sample.read_text().replace("world", "a").replace("text: hello", "{}"))
        await watched.until("world.yaml saved")
        await asyncio.sleep(1)
        assert "greeted first a" in capsys.readouterr().out
        await watched.save(DEFAULTED.replace('"first"', '"second"'))
        watched.sample.write_text(watched.sample.read_text().replace("name: a", "name: b"))
        await watched.until("world.yaml saved")
        await asyncio.sleep(1)
        assert "greeted second b" in capsys.readouterr().out


async def test_the_conversions_of_the_new_code_are_called(capsys: pytest.CaptureFixture[str]) -> None:
    async with dev(JOBS) as watched:
        watched.sample.write_text(OBJECT)
        await watched.until("world.yaml saved")
        await asyncio.sleep(1)
        assert "nightly at 2 30" in capsys.readouterr().out
        await watched.save(JOBS.replace("hour=hour))", 'hour=hour + "0"))'))
        watched.sample.write_text(OBJECT.replace("nightly", "weekly"))
        await watched.until("world.yaml saved")
        await asyncio.sleep(1)
        assert "weekly at 20 30" in capsys.readouterr().out


async def test_a_manager_cannot_be_replaced() -> None:
    async with dev(
        "import pilotage as pt\n\nmanager = pt.Manager(pt.Cluster.embedded())\n", "hello.py:manager"
    ) as watched:
        assert "hello.py:manager is a manager with a cluster of its own" in await watched.until("until it is fixed")
