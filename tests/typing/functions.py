"""What a type checker accepts and refuses of small functions. mypy reads this file, and nothing runs it."""

from __future__ import annotations

from datetime import timedelta
from typing import assert_type

import pilotage as pt
from pilotage.types.batch.v1 import Job, JobCondition
from pilotage.types.core.v1 import Pod, PodCondition


def conditions_of_built_in_kinds(pod: Pod, job: Job, own: list[pt.Condition]) -> None:
    assert pod.status is not None
    assert job.status is not None
    pt.set_status_condition(pod.status.conditions, PodCondition(type="Ready", status="True"))
    pt.set_status_condition(job.status.conditions, JobCondition(type="Complete", status="True"))
    pt.set_status_condition(own, pt.Condition(type="Ready", status="True", reason="Up"))
    assert_type(pt.find_status_condition(pod.status.conditions, "Ready"), PodCondition | None)
    assert_type(pt.find_status_condition(own, "Ready"), pt.Condition | None)
    pt.is_status_condition_true(job.status.conditions, "Complete")
    pt.meta.remove_status_condition(pod.status.conditions, "Ready")
    pt.set_status_condition(pod.status.conditions, JobCondition(type="A", status="True"))  # type: ignore[misc]
    pt.find_status_condition([pod], "Ready")  # type: ignore[type-var]


async def outcomes_of_calls(client: pt.Client, pods: list[Pod]) -> None:
    assert_type(await pt.workqueue.gather([client.create(pod) for pod in pods], limit=5), list[Pod | Exception])
    assert_type(await client.patch_status(Pod, {"status": {}}, name="a", namespace="b"), Pod)
    assert_type(await client.patch_status(pods[0], {"status": {}}), Pod)
    await client.patch_status(Pod, {"status": {}})  # type: ignore[call-overload]


def durations_are_numbers_or_timedeltas() -> None:
    options = pt.ManagerOptions(graceful_shutdown_timeout=timedelta(seconds=30), renew_deadline=pt.Duration("10s"))
    assert_type(options.graceful_shutdown_timeout, float)
    pt.ManagerOptions(graceful_shutdown_timeout="30s")  # type: ignore[arg-type]
    pt.RegistrationOptions(timeout_seconds=timedelta(seconds=3))


class Address(pt.Model):
    host_ip: str = pt.meta.json_name("hostIP")
    external_ips: list[str] = pt.meta.json_name("externalIPs", default=[])


Address(host_ip="127.0.0.1")
Address()  # type: ignore[call-arg]


def owners(pod: Pod, job: Job) -> bool:
    pt.meta.has_owner_reference(pod.metadata.owner_references, pod)
    pt.meta.has_owner_reference(pod, pod.metadata)  # type: ignore[arg-type]
    return pt.meta.has_owner_reference(pod, job)
