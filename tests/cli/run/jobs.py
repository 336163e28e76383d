"""A program with two versions of a kind, as a user writes it: an entry point that installs must convert them."""

from __future__ import annotations

from pathlib import Path

JOBS = """
import pilotage as pt


class SpecV1(pt.Model):
    schedule: str


class SpecV2(pt.Model):
    minute: str = "*"
    hour: str = "*"


@pt.resource(group="jobs.pilotage.dev", version="v2")
class Job(pt.Resource):
    spec: SpecV2


@pt.resource(group="jobs.pilotage.dev", version="v1", kind="Job", storage=False)
class JobV1(pt.Resource):
    spec: SpecV1

    def convert_to(self) -> Job:
        minute, hour = self.spec.schedule.split()
        return Job(metadata=self.metadata, spec=SpecV2(minute=minute, hour=hour))

    @classmethod
    def convert_from(cls, job: Job) -> "JobV1":
        return cls(metadata=job.metadata, spec=SpecV1(schedule=f"{job.spec.minute} {job.spec.hour}"))


class JobReconciler:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        job = await self.client.get(Job, request)
        print(request.name, "at", job.spec.hour, job.spec.minute, flush=True)

    def setup_with_manager(self, manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Job).complete(self)
        pt.WebhookBuilder(manager).for_(Job).with_conversion(JobV1).complete()


def setup(manager: pt.Manager) -> None:
    JobReconciler(manager).setup_with_manager(manager)
"""
BROKEN = f"""{JOBS}

def setup(manager: pt.Manager) -> None:
    raise ValueError("not today")
"""
DEFINITION = "jobs.jobs.pilotage.dev"
OBJECT = """
apiVersion: jobs.pilotage.dev/v1
kind: Job
metadata: {name: nightly}
spec: {schedule: "30 2"}
"""


def write_jobs(folder: Path, text: str = JOBS) -> Path:
    path = folder / "jobs.py"
    path.write_text(text)
    (folder / "nightly.yaml").write_text(OBJECT)
    return path
