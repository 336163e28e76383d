"""Simulated workloads among hostile values, refused writes, and objects of an earlier run."""

from __future__ import annotations

import logging
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pilotage.cluster.cluster import Cluster
from pilotage.errors import (
    ApiError,
    Conflict,
    ConnectionLost,
    Forbidden,
    InternalError,
    Invalid,
    NotFound,
    TooManyRequests,
)
from pilotage.meta.models import ObjectMeta, OwnerReference, Resource
from pilotage.meta.scalars.times import system_clock
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import APIRequest, Transport, TransportWrapper
from pilotage.testing.environment import Environment
from pilotage.types.apps.v1 import DaemonSet, DaemonSetSpec, Deployment, DeploymentSpec, StatefulSet, StatefulSetSpec
from pilotage.types.batch.v1 import CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec
from pilotage.types.core.v1 import (
    Binding,
    Container,
    Event,
    Namespace,
    Node,
    ObjectReference,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
    Service,
    ServicePort,
    ServiceSpec,
    Toleration,
)
from pilotage.types.policy.v1 import PodDisruptionBudget, PodDisruptionBudgetSpec
from pilotage.workloads.faults.fault import ANNOTATION
from pilotage.workloads.faults.faults import EXIT_CODE, RUN_SECONDS
from pilotage.workloads.kubelet.heartbeats import Heartbeats
from pilotage.workloads.options import WorkloadOptions
from pilotage.workloads.pods.conditions import set_pod_condition
from pilotage.workloads.scheduling.scheduler import Scheduler
from pilotage.workloads.statuses import write_status
from pilotage.workloads.workloads import Workloads
from tests.workloads.kit import NAMESPACE, pass_time, selecting, template

HUGE = 2**62
LABELS = {"app": "web"}


def pod(name: str = "a", *, annotations: dict[str, str] | None = None, **spec: Any) -> Pod:
    return Pod(
        metadata=ObjectMeta(name=name, namespace=NAMESPACE, annotations=annotations or {}, labels=LABELS),
        spec=PodSpec(containers=[Container(name="main", image="nginx")], **spec),
    )


def job_spec(**spec: Any) -> JobSpec:
    containers = [Container(name="main", image="nginx")]
    return JobSpec(template=PodTemplateSpec(spec=PodSpec(restart_policy="Never", containers=containers)), **spec)


async def phase_of(env: Environment, name: str = "a") -> str | None:
    found = await env.client.get(Pod, name, namespace=NAMESPACE)
    return found.status.phase if found.status is not None else None


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]


# Values


@pytest.mark.parametrize(
    "annotations",
    [
        {RUN_SECONDS: "9" * 14},
        {RUN_SECONDS: "9" * 400},
        {EXIT_CODE: "9" * 5000},
        {EXIT_CODE: "٣"},
        {ANNOTATION: f"exit exit-code={'1' * 5000}"},
        {ANNOTATION: "crash-loop after=99999999999999"},
        {ANNOTATION: "slow-stop after=1e300"},
        {ANNOTATION: "x" * 200_000},
    ],
    ids=lambda annotations: f"{next(iter(annotations.values()))[:30]}",
)
async def test_pod_runs_and_ends_whatever_its_annotations_are(
    pilotage_env: Environment, annotations: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    async with pilotage_env.workloads():
        await pilotage_env.client.create(pod(annotations=annotations))
        await pilotage_env.run_until_idle()
        assert await phase_of(pilotage_env) == "Running"
        await pilotage_env.client.delete(Pod, "a", namespace=NAMESPACE)
        await pass_time(pilotage_env, 40)
        assert await pilotage_env.client.find(Pod, "a", namespace=NAMESPACE) is None
    assert not errors(caplog)


async def test_fault_that_is_too_long_is_reported_in_an_event(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads():
        await pilotage_env.client.create(pod(annotations={ANNOTATION: "x" * 200_000}))
        await pilotage_env.run_until_idle()
        found = [each.message for each in await pilotage_env.client.list(Event) if each.reason == "InvalidFault"]
    assert found == ["a fault of 200000 characters: it has at most 1000"]


async def test_taint_that_is_tolerated_for_ages_evicts_nothing(
    pilotage_env: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    tolerated = Toleration(key="x", operator="Exists", effect="NoExecute", toleration_seconds=HUGE)
    async with pilotage_env.workloads():
        await pilotage_env.client.create(pod(tolerations=[tolerated]))
        await pilotage_env.run_until_idle()
        await pilotage_env.client.patch(
            Node, {"spec": {"taints": [{"key": "x", "effect": "NoExecute"}]}}, name="node-1"
        )
        await pass_time(pilotage_env, 5)
        assert await phase_of(pilotage_env) == "Running"
    assert not errors(caplog)


async def test_deadlines_of_ages_end_no_job(pilotage_env: Environment, caplog: pytest.LogCaptureFixture) -> None:
    async with pilotage_env.workloads():
        meta = ObjectMeta(name="a", namespace=NAMESPACE)
        await pilotage_env.client.create(Job(metadata=meta, spec=job_spec(active_deadline_seconds=HUGE)))
        cron = CronJobSpec(
            schedule="* * * * *", starting_deadline_seconds=HUGE, job_template=JobTemplateSpec(spec=job_spec())
        )
        await pilotage_env.client.create(CronJob(metadata=ObjectMeta(name="b", namespace=NAMESPACE), spec=cron))
        await pass_time(pilotage_env, 70)
        jobs = await pilotage_env.client.list(Job, namespace=NAMESPACE)
    assert [job.status.succeeded for job in jobs if job.status is not None] == [1, 1]
    assert not errors(caplog)


async def test_nulls_are_fields_that_are_not_there(pilotage_env: Environment, caplog: pytest.LogCaptureFixture) -> None:
    nothing = dict.fromkeys(("initContainers", "volumes", "tolerations", "nodeSelector", "affinity", "priority"))
    spec = {"containers": [{"name": "main", "image": "nginx", "ports": None, "resources": None}], **nothing}
    metadata = {"name": "a", "namespace": NAMESPACE, "labels": None, "ownerReferences": None}
    async with pilotage_env.workloads():
        await pilotage_env.client.create(
            Unstructured({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
        )
        bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "bare", "labels": None}, "spec": None}
        await pilotage_env.client.create(Unstructured(bare))
        await pilotage_env.run_until_idle()
        assert await phase_of(pilotage_env) == "Running"
    assert not errors(caplog)


async def test_controller_of_a_kind_that_is_not_installed_is_reported_in_the_budget(pilotage_env: Environment) -> None:
    owner = OwnerReference(api_version="example.com/v1", kind="Foo", name="x", uid="1", controller=True)
    owned = pod()
    owned.metadata.owner_references = [owner]
    budget = PodDisruptionBudgetSpec(selector=selecting(LABELS), max_unavailable=1)
    async with pilotage_env.workloads():
        await pilotage_env.client.create(owned)
        meta = ObjectMeta(name="a", namespace=NAMESPACE)
        await pilotage_env.client.create(PodDisruptionBudget(metadata=meta, spec=budget))
        await pass_time(pilotage_env, 5)
        found = await pilotage_env.client.get(PodDisruptionBudget, "a", namespace=NAMESPACE)
        assert await phase_of(pilotage_env) == "Running"
    assert found.status is not None
    assert [(each.reason, each.status) for each in found.status.conditions] == [("SyncFailed", "False")]


# Objects that are replaced


async def test_writes_for_a_pod_that_is_gone_do_not_change_another_one_of_its_name(pilotage_env: Environment) -> None:
    client = pilotage_env.client
    old = await client.create(pod())
    await client.delete(Pod, "a", namespace=NAMESPACE, grace_period_seconds=0)
    new = await client.create(pod())
    condition = PodCondition(type="DisruptionTarget", status="True", reason="Test")
    assert not await set_pod_condition(client, old, condition, pilotage_env.clock)
    assert not await write_status(client, old, PodStatus(phase="Failed"))
    found = await client.get(Pod, "a", namespace=NAMESPACE)
    assert found.metadata.resource_version == new.metadata.resource_version


# Several runs


async def test_options_serve_more_than_one_run(pilotage_env: Environment) -> None:
    options = WorkloadOptions(nodes=0, more_nodes=[Node(metadata=ObjectMeta(name="big"))])
    for name in ("a", "b"):
        async with pilotage_env.workloads(options):
            await pilotage_env.client.create(pod(name))
            await pilotage_env.run_until_idle()
            assert await phase_of(pilotage_env, name) == "Running"
    assert options.more_nodes[0].metadata.resource_version == ""


async def test_same_workloads_run_twice(pilotage_env: Environment, caplog: pytest.LogCaptureFixture) -> None:
    workloads = Workloads(pilotage_env.cluster)
    for name in ("a", "b"):
        async with workloads:
            await pilotage_env.client.create(pod(name))
            workloads.fail_image("busybox")
            await workloads.run_until_idle()
            assert await phase_of(pilotage_env, name) == "Running"
    assert not errors(caplog)


async def test_pods_of_a_second_run_have_other_addresses(pilotage_env: Environment) -> None:
    for name in ("a", "b"):
        async with pilotage_env.workloads():
            await pilotage_env.client.create(pod(name))
            await pilotage_env.run_until_idle()
    found = await pilotage_env.client.list(Pod, namespace=NAMESPACE)
    assert len({each.status.pod_ip for each in found if each.status is not None}) == 2


async def test_node_that_exists_without_the_annotation_is_left_alone(pilotage_env: Environment) -> None:
    before = await pilotage_env.client.create(Node(metadata=ObjectMeta(name="node-1")))
    async with pilotage_env.workloads(WorkloadOptions(controllers=("kubelet",))):
        await pass_time(pilotage_env, 5)
        after = await pilotage_env.client.get(Node, "node-1")
    assert after.metadata.resource_version == before.metadata.resource_version


async def test_everything_continues_on_a_storage_with_objects(tmp_path: Path) -> None:
    replicas = DeploymentSpec(replicas=2, selector=selecting(LABELS), template=template(LABELS))
    seen = []
    for run in range(2):
        async with Cluster.embedded(storage=f"sqlite:{tmp_path}/objects.db") as cluster:
            if not run:
                meta = ObjectMeta(name="web", namespace=NAMESPACE)
                await cluster.client.create(Deployment(metadata=meta, spec=replicas))
            async with Workloads(cluster, WorkloadOptions(pull_seconds=0, jitter_seconds=0)) as workloads:
                await workloads.run_until_idle(30)
                pods = await cluster.client.list(Pod, namespace=NAMESPACE)
                seen.append({(each.metadata.uid, each.metadata.resource_version) for each in pods})
    assert len(seen[0]) == 2
    assert seen[0] == seen[1]


# Refused writes


async def test_pod_that_cannot_be_bound_keeps_no_other_from_its_node(
    pilotage_env: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    bind = Scheduler._bind
    refusals: list[str] = []

    async def refuse(self: Scheduler, found: Any, node: str) -> None:
        if found.name == "refused" and len(refusals) < 3:
            refusals.append(node)
            raise Forbidden("a webhook has denied the request")
        await bind(self, found, node)

    monkeypatch.setattr(Scheduler, "_bind", refuse)
    async with pilotage_env.workloads():
        await pilotage_env.client.create(pod("refused"))
        await pilotage_env.client.create(pod("other"))
        await pilotage_env.eventually(lambda: phase_of(pilotage_env, "other"), satisfies=lambda it: it == "Running")
        await pilotage_env.run_until_idle()
        assert await phase_of(pilotage_env, "refused") == "Running"
    assert len(refusals) == 3


@pytest.mark.parametrize("refusal", [NotFound("no namespace"), Forbidden("no right"), Invalid("no")])
async def test_heartbeat_that_cannot_be_written_is_repeated(refusal: ApiError) -> None:
    class Client:
        async def patch(self, *args: Any, **options: Any) -> None:
            raise NotFound("no such lease")

        async def create(self, lease: object) -> None:
            raise refusal

    class Context:
        client = type("", (), {"api_reader": Client()})

        def clock(self) -> Any:
            return system_clock()

    await Heartbeats(Context())._renew("node-1")  # type: ignore[arg-type]  # what a renewal reads


async def test_user_schedules_pods_where_our_scheduler_does_not_run(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(WorkloadOptions(controllers=("*", "-scheduler"))):
        await pilotage_env.client.create(pod())
        await pilotage_env.run_until_idle()
        assert await phase_of(pilotage_env) == "Pending"
        meta = ObjectMeta(name="a", namespace=NAMESPACE)
        body = Binding(metadata=meta, target=ObjectReference(kind="Node", name="node-1"))
        await pilotage_env.client.subresource("binding", Binding).create(Pod, body, name="a", namespace=NAMESPACE)
        await pilotage_env.run_until_idle()
        assert await phase_of(pilotage_env) == "Running"


class Refusing(TransportWrapper):
    """Refuses some writes, but for those of Events."""

    def __init__(self, inner: Transport, random: Random) -> None:
        super().__init__(inner)
        self._random = random
        self.share = 0.0
        """The nodes are created first, for which nothing is refused."""

    def prepare(self, request: APIRequest) -> APIRequest:
        is_write = request.verb.value in ("create", "update", "patch", "delete")
        if is_write and "events" not in str(request.resource) and self._random.random() < self.share:
            refusals = [Forbidden("no"), TooManyRequests("later"), InternalError("failed"), ConnectionLost("lost")]
            if request.verb.value == "update":
                refusals.append(Conflict("the object has been modified"))
            raise self._random.choice(refusals)
        return request


def meta(name: str) -> ObjectMeta:
    return ObjectMeta(name=name, namespace=NAMESPACE)


def one_of_each_kind() -> list[Resource]:
    made: list[Resource] = [
        Deployment(
            metadata=meta("web"),
            spec=DeploymentSpec(replicas=3, selector=selecting(LABELS), template=template(LABELS)),
        ),
        StatefulSet(
            metadata=meta("store"),
            spec=StatefulSetSpec(
                replicas=2, service_name="x", selector=selecting({"app": "db"}), template=template({"app": "db"})
            ),
        ),
        DaemonSet(
            metadata=meta("agent"),
            spec=DaemonSetSpec(selector=selecting({"app": "agent"}), template=template({"app": "agent"})),
        ),
        Job(metadata=meta("once"), spec=job_spec(completions=3, parallelism=2)),
        Service(metadata=meta("web"), spec=ServiceSpec(selector=LABELS, ports=[ServicePort(port=80)])),
        PodDisruptionBudget(
            metadata=meta("web"), spec=PodDisruptionBudgetSpec(selector=selecting(LABELS), max_unavailable=1)
        ),
    ]
    return made


@pytest.mark.parametrize("seed", [0, 5, 11, 17])
async def test_all_arrive_although_many_writes_are_refused(
    pilotage_env: Environment, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    transports: list[Refusing] = []
    sibling = Cluster.sibling

    def refusing_sibling(cluster: Cluster) -> Cluster:
        def wrapped(inner: Transport) -> Transport:
            transports.append(Refusing(inner, random))
            return transports[-1]

        random, made = Random(seed), sibling(cluster)
        made.wrap_transport(wrapped)
        return made

    monkeypatch.setattr(Cluster, "sibling", refusing_sibling)
    client = pilotage_env.client
    async with pilotage_env.workloads(nodes=2):
        for each in transports:
            each.share = 0.4
        for obj in one_of_each_kind():
            await client.create(obj)
        await pass_time(pilotage_env, 30)
        for kind, name in ((Deployment, "web"), (StatefulSet, "store"), (DaemonSet, "agent")):
            change = {"spec": {"template": {"metadata": {"labels": {"version": "2"}}}}}
            await client.patch(kind, change, name=name, namespace=NAMESPACE)
        await pass_time(pilotage_env, 60)
        for each in transports:
            each.share = 0.0
        await pilotage_env.run_until_idle(2000)
        pods = await client.list(Pod, namespace=NAMESPACE)
        job = await client.get(Job, "once", namespace=NAMESPACE)
        deployment = await client.get(Deployment, "web", namespace=NAMESPACE)
    running = [each for each in pods if each.status is not None and each.status.phase == "Running"]
    assert sorted(each.metadata.labels["app"] for each in running) == ["agent"] * 2 + ["db"] * 2 + ["web"] * 3
    assert {each.metadata.labels["version"] for each in running} == {"2"}
    assert len(pods) == len(running) + 3
    assert job.status is not None
    assert job.status.succeeded == 3
    assert deployment.status is not None
    assert deployment.status.available_replicas == 3


async def test_a_namespace_with_workloads_is_deleted_without_a_warning_about_events(
    pilotage_env: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    client = pilotage_env.client
    async with pilotage_env.workloads():
        await client.create(Namespace(metadata=ObjectMeta(name="shop")))
        for obj in one_of_each_kind():
            obj.metadata.namespace = "shop"
            await client.create(obj)
        await pilotage_env.run_until_idle()
        await client.delete(Namespace, "shop")
        await pass_time(pilotage_env, 60)
        assert await client.find(Namespace, "shop") is None
    assert "refused an event" not in caplog.text
    assert not errors(caplog)
