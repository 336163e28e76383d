"""A kind with three versions, for tests: v2 is the hub; v1 cannot express everything that v2 can."""

from __future__ import annotations

from typing import Any

import pilotage as pt

GROUP = "jobs.pilotage.dev"


class SpecV1(pt.Model):
    schedule: str
    owner: str = ""


class SpecV2(pt.Model):
    minute: str = "*"
    hour: str = "*"
    zones: list[str] = []
    owner: str = ""


@pt.resource(group=GROUP, version="v2")
class Job(pt.Resource):
    spec: SpecV2


@pt.resource(group=GROUP, version="v1", kind="Job", storage=False)
class JobV1(pt.Resource):
    spec: SpecV1

    def convert_to(self) -> Job:
        minute, hour = self.spec.schedule.split()
        return Job(metadata=self.metadata, spec=SpecV2(minute=minute, hour=hour, owner=self.spec.owner))

    @classmethod
    def convert_from(cls, job: Job) -> JobV1:
        schedule = f"{job.spec.minute} {job.spec.hour}"
        return cls(metadata=job.metadata, spec=SpecV1(schedule=schedule, owner=job.spec.owner))


@pt.resource(group=GROUP, version="v3", kind="Job", storage=False)
class JobV3(pt.Resource):
    spec: SpecV2


def to_v3(job: Job) -> JobV3:
    return JobV3(metadata=job.metadata, spec=job.spec)


def from_v3(job: JobV3) -> Job:
    return Job(metadata=job.metadata, spec=job.spec)


V3 = pt.webhook.Conversion(JobV3, to_hub=from_v3, from_hub=to_v3)


def job(version: str, spec: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """The document of a Job."""
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": "Job",
        "metadata": {"name": "nightly", "namespace": "default", "uid": "7", **metadata},
        "spec": spec,
    }
