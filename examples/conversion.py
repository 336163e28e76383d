"""Two versions of one kind, converted by functions: written in one, read in the other, nothing lost.

    python conversion.py memory:     the embedded API server converts in process
    python conversion.py cluster     a real cluster asks this program over HTTPS
"""

import asyncio
import sys

import pilotage as pt


class JobSpecV1(pt.Model):
    schedule: str


class JobSpecV2(pt.Model):
    minute: str = "*"
    hour: str = "*"


@pt.resource(group="conversion.pilotage.dev", version="v2")
class Job(pt.Resource):
    """The hub: every other version converts to and from this one."""

    spec: JobSpecV2


@pt.resource(group="conversion.pilotage.dev", version="v1", kind="Job", storage=False)
class JobV1(pt.Resource):
    spec: JobSpecV1

    def convert_to(self) -> Job:
        minute, hour = self.spec.schedule.split()
        return Job(metadata=self.metadata, spec=JobSpecV2(minute=minute, hour=hour))

    @classmethod
    def convert_from(cls, job: Job) -> "JobV1":
        return cls(metadata=job.metadata, spec=JobSpecV1(schedule=f"{job.spec.minute} {job.spec.hour}"))


async def main(world: str) -> None:
    cluster = pt.Cluster.connect() if world == "cluster" else pt.Cluster.embedded(world)
    async with pt.Manager(cluster) as manager:
        pt.WebhookBuilder(manager).for_(Job).with_conversion(JobV1).complete()
        serving = asyncio.create_task(manager.start())
        await manager.ready()
        await cluster.install(Job, JobV1)  # one CRD with both versions, converted by this program

        client = cluster.client.with_namespace("default")
        await client.create(JobV1(metadata=pt.ObjectMeta(name="nightly"), spec=JobSpecV1(schedule="30 2")))
        new = await client.get(Job, "nightly")
        print("v2:", new.spec.minute, new.spec.hour)
        new.spec.hour = "3"
        await client.update(new)
        old = await client.get(JobV1, "nightly")
        print("v1:", old.spec.schedule)
        await client.delete(new)
        serving.cancel()
        await asyncio.wait([serving])


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:"))
    except pt.PilotageError as error:
        raise SystemExit(f"conversion: {error}") from None
