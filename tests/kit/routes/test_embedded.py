"""When a tool installs its kinds: after its setup, with the conversions between their versions."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import pilotage as pt
from pilotage import kit
from pilotage.cluster.installation import DEFINITION
from tests.kit.tools import Console

NAME = "jobs.tool.pilotage.dev"
OLD = "apiVersion: tool.pilotage.dev/v1\nkind: Job\nmetadata: {{name: {name}}}\nspec: {{schedule: 30 2}}\n"


class SpecV1(pt.Model):
    schedule: str


class SpecV2(pt.Model):
    minute: str = "*"
    hour: str = "*"


@pt.resource(group="tool.pilotage.dev", version="v2")
class Job(pt.Resource):
    spec: SpecV2


@pt.resource(group="tool.pilotage.dev", version="v1", kind="Job", storage=False)
class JobV1(pt.Resource):
    spec: SpecV1

    def convert_to(self) -> Job:
        minute, hour = self.spec.schedule.split()
        return Job(metadata=self.metadata, spec=SpecV2(minute=minute, hour=hour))

    @classmethod
    def convert_from(cls, job: Job) -> JobV1:
        return cls(metadata=job.metadata, spec=SpecV1(schedule=f"{job.spec.minute} {job.spec.hour}"))


class JobReconciler:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        job = await self.client.get(Job, request)
        if job.metadata.labels.get("hour") != job.spec.hour:
            await self.client.patch(job, {"metadata": {"labels": {"hour": job.spec.hour}}})


def setup(manager: pt.Manager) -> None:
    pt.ControllerBuilder(manager).for_(Job).complete(JobReconciler(manager))
    pt.WebhookBuilder(manager).for_(Job).with_conversion(JobV1).complete()


def broken(manager: pt.Manager) -> None:
    raise ValueError("not today")


def tool(folder: Path, kinds: list[type[pt.Resource]], setup: Callable[[pt.Manager], Any] = setup) -> Console:
    return Console(kit.Tool("jobs", kinds=kinds, setup=setup, storage=f"sqlite:{folder}/jobs.db"))


def definition(folder: Path) -> dict[str, Any] | None:
    """The spec of the stored definition."""

    async def read() -> dict[str, Any] | None:
        async with pt.Cluster.embedded(f"sqlite:{folder}/jobs.db") as cluster:
            found = await cluster.client.find(DEFINITION, NAME)
            return None if found is None else dict(found["spec"])

    return asyncio.run(read())


def test_each_command_converts_between_the_versions(tmp_path: Path) -> None:
    jobs = tool(tmp_path, [Job, JobV1])
    for name in ("first", "second"):
        jobs.output("apply", "-f", "-", stdin=OLD.format(name=name))
    assert jobs.output("get", "jobs", "-o", "jsonpath={.items[*].spec.hour}") == "2 2"
    assert jobs.output("get", "jobs", "-l", "hour=2", "-o", "name").count("job") == 2


@pytest.mark.parametrize("words", [("get", "jobs"), ("create", "job", "a", "--set", "spec.hour=1", "--no-reconcile")])
def test_a_new_version_is_installed_with_its_conversion_by_every_command(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    tool(tmp_path, [Job]).output("create", "job", "before", "--set", "spec.hour=3", "--no-reconcile")
    tool(tmp_path, [Job, JobV1]).run(*words)
    spec = definition(tmp_path)
    assert spec is not None
    assert spec["conversion"]["strategy"] == "Webhook"


def test_the_first_command_without_reconcilers_installs_the_conversion_too(tmp_path: Path) -> None:
    tool(tmp_path, [Job, JobV1]).output("create", "job", "a", "--set", "spec.hour=1", "--no-reconcile")
    spec = definition(tmp_path)
    assert spec is not None
    assert spec["conversion"]["strategy"] == "Webhook"


def test_a_setup_that_fails_changes_no_definition(tmp_path: Path) -> None:
    tool(tmp_path, [Job]).output("create", "job", "before", "--set", "spec.hour=3", "--no-reconcile")
    before = definition(tmp_path)
    with pytest.raises(ValueError, match="not today"):
        tool(tmp_path, [Job, JobV1], broken).run("create", "job", "a", "--set", "spec.hour=1")
    assert definition(tmp_path) == before
