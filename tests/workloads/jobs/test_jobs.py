"""Jobs on an API server; the kubelet is played by hand."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pilotage.meta.models import ObjectMeta
from pilotage.testing.environment import Environment
from pilotage.types.batch.v1 import (
    Job,
    JobSpec,
    JobStatus,
    PodFailurePolicy,
    PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyRule,
)
from pilotage.types.core.v1 import (
    Container,
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
)
from pilotage.types.meta.v1 import LabelSelector
from pilotage.workloads import WorkloadOptions, Workloads
from tests.workloads.kit import events_of, pass_time

ONLY = WorkloadOptions(controllers=("job-controller",))
FINALIZER = "batch.kubernetes.io/job-tracking"


@asynccontextmanager
async def running(env: Environment, spec: JobSpec) -> AsyncIterator[Workloads]:
    async with Workloads(env.cluster, ONLY) as workloads:
        await env.client.create(Job(metadata=ObjectMeta(name="job", namespace="default"), spec=spec))
        await pass_time(env, 2)
        yield workloads


def template(policy: str = "Never") -> PodTemplateSpec:
    return PodTemplateSpec(spec=PodSpec(restart_policy=policy, containers=[Container(name="main", image="busybox")]))


async def pods(env: Environment, *, phase: str = "Pending") -> list[Pod]:
    found = await env.client.list(Pod, namespace="default")
    chosen = [pod for pod in found if pod.status is not None and pod.status.phase == phase]
    return sorted(chosen, key=lambda pod: pod.metadata.name)


async def status(env: Environment) -> JobStatus:
    job = await env.client.get(Job, "job", namespace="default")
    assert job.status is not None
    return job.status


async def end(env: Environment, pod: Pod, code: int = 0) -> None:
    """What a kubelet writes when the containers of a Pod have ended."""
    now = env.clock().replace(microsecond=0)
    terminated = ContainerStateTerminated(exit_code=code, finished_at=now)
    container = ContainerStatus(
        name="main", image="i", image_id="", ready=False, restart_count=0, state=ContainerState(terminated=terminated)
    )
    ready = PodCondition(type="Ready", status="False", last_transition_time=now)
    phase = "Failed" if code else "Succeeded"
    pod.status = PodStatus(phase=phase, conditions=[ready], container_statuses=[container])
    await env.client.update_status(pod)


def types(found: JobStatus) -> list[tuple[str, str | None]]:
    return [(condition.type, condition.reason) for condition in found.conditions if condition.status == "True"]


async def test_a_job_runs_its_pods_to_its_completions(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with running(env, JobSpec(completions=3, parallelism=2, template=template())):
        first = await pods(env)
        assert len(first) == 2
        assert first[0].metadata.finalizers == [FINALIZER]
        assert first[0].metadata.labels["job-name"] == first[0].metadata.labels["batch.kubernetes.io/job-name"] == "job"
        found = await status(env)
        assert (found.active, found.ready, found.terminating) == (2, 0, 0)
        for pod in first:
            await end(env, pod)
        await pass_time(env, 2)
        (last,) = await pods(env)
        await end(env, last)
        await pass_time(env, 2)
        found = await status(env)
        ended = await pods(env, phase="Succeeded")
    assert (found.succeeded, found.active, found.failed) == (3, None, None)
    assert types(found) == [("SuccessCriteriaMet", "CompletionsReached"), ("Complete", "CompletionsReached")]
    assert found.completion_time is not None
    assert all(not pod.metadata.finalizers for pod in ended)
    created = [("Normal", "SuccessfulCreate", f"Created pod: {pod.metadata.name}", "job-controller") for pod in ended]
    events = await events_of(env, "Job", "job")
    assert sorted(events[:-1]) == sorted(created)
    assert events[-1] == ("Normal", "Completed", "Job completed", "job-controller")


async def test_failed_pods_are_replaced_after_a_growing_time_until_the_limit(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with running(env, JobSpec(backoff_limit=2, template=template())):
        for wait in (10, 20):
            (pod,) = await pods(env)
            await end(env, pod, code=1)
            await pass_time(env, wait - 1)
            assert not await pods(env)
            await pass_time(env, 3)
        (pod,) = await pods(env)
        await end(env, pod, code=1)
        await pass_time(env, 2)
        found = await status(env)
    assert found.failed == 3
    assert types(found) == [("FailureTarget", "BackoffLimitExceeded"), ("Failed", "BackoffLimitExceeded")]
    message = "Job has reached the specified backoff limit"
    assert (await events_of(env, "Job", "job"))[-1] == ("Warning", "BackoffLimitExceeded", message, "job-controller")


async def test_an_indexed_job_gives_each_pod_its_index(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with running(env, JobSpec(completions=3, parallelism=3, completion_mode="Indexed", template=template())):
        made = await pods(env)
        assert [pod.spec.hostname for pod in made] == ["job-0", "job-1", "job-2"]
        index = "batch.kubernetes.io/job-completion-index"
        assert [pod.metadata.labels[index] for pod in made] == ["0", "1", "2"]
        assert [pod.metadata.annotations[index] for pod in made] == ["0", "1", "2"]
        variable = made[0].spec.containers[0].env[0]
        assert variable.name == "JOB_COMPLETION_INDEX"
        for pod in (made[0], made[2]):
            await end(env, pod)
        await pass_time(env, 2)
        assert (await status(env)).completed_indexes == "0,2"
        await end(env, made[1])
        await pass_time(env, 2)
        found = await status(env)
    assert (found.completed_indexes, found.succeeded) == ("0-2", 3)


async def test_an_elastic_indexed_job_ends_with_fewer_completions(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with running(env, JobSpec(completions=3, parallelism=3, completion_mode="Indexed", template=template())):
        made = await pods(env)
        await end(env, made[0])
        await env.client.patch(Job, {"spec": {"completions": 1, "parallelism": 1}}, name="job", namespace="default")
        await pass_time(env, 3)
        found = await status(env)
    assert (found.succeeded, found.completed_indexes) == (1, "0")
    assert types(found)[-1] == ("Complete", "CompletionsReached")


async def test_each_index_has_its_own_limit(pilotage_env: Environment) -> None:
    env = pilotage_env
    spec = JobSpec(
        completions=2, parallelism=2, completion_mode="Indexed", backoff_limit_per_index=0, template=template()
    )
    async with running(env, spec):
        made = await pods(env)
        await end(env, made[0], code=1)
        await end(env, made[1])
        await pass_time(env, 2)
        found = await status(env)
    assert (found.failed_indexes, found.completed_indexes, found.failed) == ("0", "1", 1)
    assert types(found) == [("FailureTarget", "FailedIndexes"), ("Failed", "FailedIndexes")]


async def test_a_policy_fails_a_job_at_an_exit_code(pilotage_env: Environment) -> None:
    env = pilotage_env
    codes = PodFailurePolicyOnExitCodesRequirement(operator="In", values=[42])
    policy = PodFailurePolicy(rules=[PodFailurePolicyRule(action="FailJob", on_exit_codes=codes)])
    async with running(env, JobSpec(pod_failure_policy=policy, template=template())):
        (pod,) = await pods(env)
        await end(env, pod, code=42)
        await pass_time(env, 2)
        found = await status(env)
    name = f"default/{pod.metadata.name}"
    message = f"Container main for pod {name} failed with exit code 42 matching FailJob rule at index 0"
    assert [condition.message for condition in found.conditions] == [message, message]
    assert types(found) == [("FailureTarget", "PodFailurePolicy"), ("Failed", "PodFailurePolicy")]


async def test_a_suspended_job_has_no_pods_and_starts_again(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with running(env, JobSpec(template=template())):
        start = (await status(env)).start_time
        await env.client.patch(Job, {"spec": {"suspend": True}}, name="job", namespace="default")
        await pass_time(env, 3)
        found = await status(env)
        assert not await pods(env)
        assert (found.active, found.start_time, types(found)) == (None, None, [("Suspended", "JobSuspended")])
        await env.client.patch(Job, {"spec": {"suspend": False}}, name="job", namespace="default")
        await pass_time(env, 3)
        found = await status(env)
        assert len(await pods(env)) == 1
    assert start is not None
    assert found.start_time is not None
    assert found.start_time > start
    assert [(one.type, one.status, one.reason) for one in found.conditions] == [("Suspended", "False", "JobResumed")]
    reasons = [reason for _, reason, _, _ in await events_of(env, "Job", "job")]
    assert reasons == ["SuccessfulCreate", "SuccessfulDelete", "Suspended", "SuccessfulCreate", "Resumed"]


async def test_a_job_fails_at_its_deadline(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with running(env, JobSpec(active_deadline_seconds=30, template=template())):
        await pass_time(env, 26)
        assert not types(await status(env))
        await pass_time(env, 5)
        found = await status(env)
        assert not await pods(env)
    assert types(found) == [("FailureTarget", "DeadlineExceeded"), ("Failed", "DeadlineExceeded")]


async def test_the_pods_of_a_deleted_job_lose_their_finalizer(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with running(env, JobSpec(template=template())):
        await env.client.delete(Job, "job", namespace="default", propagation_policy="Background")
        await pass_time(env, 5)
        assert not await env.client.list(Pod, namespace="default")


async def test_a_job_of_another_controller_is_left_alone(pilotage_env: Environment) -> None:
    env = pilotage_env
    async with running(env, JobSpec(managed_by="example.com/other", template=template())):
        assert not await pods(env)


async def test_a_job_adopts_pods_that_it_selects(pilotage_env: Environment) -> None:
    env = pilotage_env
    labels = {"app": "batch"}
    made = template()
    made.metadata = ObjectMeta(labels=labels)
    assert made.spec is not None
    stray = Pod(metadata=ObjectMeta(name="stray", namespace="default", labels=labels), spec=made.spec)
    await env.client.create(stray)
    spec = JobSpec(manual_selector=True, selector=LabelSelector(match_labels=labels), template=made)
    async with running(env, spec):
        (pod,) = await pods(env)
    assert pod.metadata.name == "stray"
    assert pod.metadata.finalizers == [FINALIZER]
    assert [(owner.kind, owner.controller) for owner in pod.metadata.owner_references] == [("Job", True)]
