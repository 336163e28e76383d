"""Stages on a server: what becomes of Pods, nodes and other objects that have some."""

from __future__ import annotations

import logging
from collections import Counter
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import pilotage as pt
from pilotage.testing import Environment
from pilotage.types.apps.v1 import Deployment, DeploymentSpec
from pilotage.types.batch.v1 import Job, JobSpec
from pilotage.types.core.v1 import (
    ConfigMap,
    Container,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    Pod,
    PodSpec,
    PodTemplateSpec,
    VolumeResourceRequirements,
)
from pilotage.workloads import WorkloadOptions
from pilotage.workloads.stages import stagefiles
from pilotage.workloads.stages.filestage import FileStage
from pilotage.workloads.stages.moment import Moment
from pilotage.workloads.stages.native import NativeStage
from pilotage.workloads.stages.stage import POD, Document, Event, Patch, Step
from tests.workloads.kit import events_of, pass_time, selecting, template

KWOK = Path(__file__).parents[1] / "stages" / "kwok"


def kwok(folder: str) -> list[FileStage]:
    """The stages of one of kwok's folders."""
    texts = [(path, path.read_text()) for path in sorted((KWOK / folder).glob("*.yaml"))]
    return [stage for path, text in texts if "kind: Stage" in text for stage in stagefiles.parse(text, path.name)]


def parsed(name: str, kind: str, spec: str, group: str = "v1") -> FileStage:
    """A stage by the fields of its spec, in YAML."""
    header = f"apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata: {{name: {name}}}\nspec:\n"
    reference = f"  resourceRef: {{apiGroup: {group}, kind: {kind}}}\n"
    (stage,) = stagefiles.parse(f"{header}{reference}{spec}", "f.yaml")
    return stage


def pod(name: str = "web", **annotations: str) -> Pod:
    return Pod(
        metadata=pt.ObjectMeta(name=name, namespace="default", annotations=annotations),
        spec=PodSpec(node_name="node-1", containers=[Container(name="web", image="web:1")]),
    )


async def phase_of(env: Environment, name: str = "web") -> str | None:
    found = await env.client.find(Pod, name, namespace="default")
    return found.status.phase if found is not None and found.status is not None else None


async def test_a_deployment_becomes_ready_with_the_fast_stages_of_kwok(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(nodes=2, stages=kwok("pod/fast")):
        spec = DeploymentSpec(replicas=3, selector=selecting({"a": "b"}), template=template({"a": "b"}))
        await pilotage_env.given(Deployment(metadata=pt.ObjectMeta(name="web", namespace="default"), spec=spec))
        await pilotage_env.run_until_idle()
        found = await pilotage_env.client.get(Deployment, "web", namespace="default")
        assert found.status is not None
        assert found.status.available_replicas == 3
        pods = await pilotage_env.client.list(Pod, namespace="default")
        addresses = [one.status.pod_ip for one in pods if one.status]
        assert len(set(addresses)) == 3
        assert all(address and address.startswith("10.244.") for address in addresses)


async def test_a_job_completes_with_the_fast_stages_of_kwok(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(stages=kwok("pod/fast")):
        wanted = PodTemplateSpec(spec=PodSpec(restart_policy="Never", containers=[Container(name="a", image="a")]))
        meta = pt.ObjectMeta(name="job", namespace="default")
        await pilotage_env.given(Job(metadata=meta, spec=JobSpec(template=wanted)))
        await pilotage_env.run_until_idle()
        found = await pilotage_env.client.get(Job, "job", namespace="default")
        assert found.status is not None
        assert found.status.succeeded == 1


async def test_a_deleted_pod_is_removed_by_the_fast_stages_of_kwok(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(stages=kwok("pod/fast")):
        await pilotage_env.given(pod())
        await pilotage_env.run_until_idle()
        await pilotage_env.client.delete(Pod, "web", namespace="default")
        await pilotage_env.run_until_idle()
        assert await phase_of(pilotage_env) is None


async def test_a_pod_goes_through_the_general_stages_of_kwok_with_their_delays(pilotage_env: Environment) -> None:
    delays = {
        f"pod-{name}.stage.kwok.x-k8s.io/{kind}": "2s"
        for name in ("create", "ready")
        for kind in ("delay", "jitter-delay")
    }
    async with pilotage_env.workloads(stages=kwok("pod/general")):
        began = pilotage_env.clock()
        await pilotage_env.given(pod(**delays))
        await pilotage_env.run_until_idle()
        assert await phase_of(pilotage_env) == "Running"
        assert timedelta(seconds=4) <= pilotage_env.clock() - began < timedelta(seconds=5)
        events = await events_of(pilotage_env, "Pod", "web")
        assert events == [("Normal", "Created", "Created container", "kwok_controller")]


async def test_a_node_is_initialized_and_sends_heartbeats_as_with_kwok(pilotage_env: Environment) -> None:
    def heartbeat(node: Node) -> datetime | None:
        ready = next(one for one in node.status.conditions if one.type == "Ready") if node.status else None
        return ready.last_heartbeat_time if ready else None

    async with pilotage_env.workloads(nodes=1, stages=[*kwok("node/fast"), *kwok("node/heartbeat")]):
        await pilotage_env.run_until_idle()
        first = await pilotage_env.client.get(Node, "node-1")
        assert first.status is not None
        assert first.status.phase == "Running"
        assert first.status.node_info is not None
        assert first.status.node_info.kubelet_version == "kwok-v0.8.0"
        assert {one.type: one.address for one in first.status.addresses}["Hostname"] == "node-1"
        await pass_time(pilotage_env, 60)
        await pilotage_env.run_until_idle()  # it does not wait for the next heartbeat
        later = await pilotage_env.client.get(Node, "node-1")
        assert (heartbeat(later) or datetime.max) - (heartbeat(first) or datetime.min) >= timedelta(seconds=40)


async def test_a_pod_of_a_lost_node_goes_on_when_the_node_recovers(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(nodes=1, stages=kwok("pod/fast")) as workloads:
        workloads.lose_node("node-1")
        await pilotage_env.given(pod())
        await pilotage_env.run_until_idle()
        assert await phase_of(pilotage_env) == "Pending"
        workloads.recover_node("node-1")
        await pilotage_env.run_until_idle()
        assert await phase_of(pilotage_env) == "Running"


async def test_volumes_are_provisioned_by_the_stages_of_kwok(pilotage_env: Environment) -> None:
    pytest.importorskip("cel_expr_python")
    resources = VolumeResourceRequirements(requests={"storage": pt.Quantity("1Gi")})
    spec = PersistentVolumeClaimSpec(
        storage_class_name="kwok-volume", access_modes=["ReadWriteOnce"], resources=resources
    )
    async with pilotage_env.workloads(stages=kwok("volume/fast")):
        meta = pt.ObjectMeta(name="data", namespace="default")
        await pilotage_env.given(PersistentVolumeClaim(metadata=meta, spec=spec))
        await pilotage_env.run_until_idle()
        claim = await pilotage_env.client.get(PersistentVolumeClaim, "data", namespace="default")
        assert claim.status is not None
        assert claim.status.phase == "Bound"
        (volume,) = await pilotage_env.client.list(PersistentVolume)
        assert volume.status is not None
        assert volume.status.phase == "Bound"
        assert claim.spec is not None
        assert claim.spec.volume_name == volume.metadata.name


async def test_a_native_stage_finishes_pods_beside_those_of_files(pilotage_env: Environment) -> None:
    def finish(document: Document, moment: Moment) -> Step:
        return Step(
            (Event("Normal", "Done", "it is done"), Patch("merge", {"status": {"phase": "Succeeded"}}, "status"))
        )

    finishes = NativeStage(
        "finishes",
        POD,
        finish,
        selects=lambda document: document.get("status", {}).get("phase") == "Running",
        waits=lambda document, now, random: 30.0,
    )
    async with pilotage_env.workloads(stages=[*kwok("pod/fast"), finishes]):
        began = pilotage_env.clock()
        await pilotage_env.given(pod())
        await pilotage_env.run_until_idle()
        assert await phase_of(pilotage_env) == "Succeeded"
        assert pilotage_env.clock() - began >= timedelta(seconds=30)
        assert [one[1] for one in await events_of(pilotage_env, "Pod", "web")] == ["Done"]


@pt.resource(group="example.com", version="v1", status=True)
class Backup(pt.Resource):
    """A custom resource."""

    spec: dict[str, Any] = {}
    status: dict[str, Any] = {}


BACKUP = """
  selector:
    matchExpressions:
    - {key: .spec.size, operator: Exists}
    - {key: .status.phase, operator: DoesNotExist}
  delay: {durationMilliseconds: 5000}
  steps:
  - event: {type: Warning, reason: Started, message: It begins}
  - finalizers: {add: [{value: example.com/backup}]}
  - apply:
      template: |
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: {{ .metadata.name }}-log}
        data: {at: {{ Now | Quote }}}
  - patch:
      subresource: status
      root: status
      template: |
        phase: Running
  immediateNextStage: true
"""
FINISHES = """
  selector: {matchExpressions: [{key: .status.phase, operator: In, values: [Running]}]}
  next: {statusTemplate: "phase: Done", finalizers: {empty: true}}
"""


def backup(name: str = "nightly", **spec: Any) -> Backup:
    return Backup(metadata=pt.ObjectMeta(name=name, namespace="default"), spec=spec)


async def test_a_custom_resource_goes_through_stages_with_all_kinds_of_actions(pilotage_env: Environment) -> None:
    stages = [parsed("begin", "Backup", BACKUP, "example.com/v1"), parsed("end", "Backup", FINISHES, "example.com/v1")]
    await pilotage_env.given(backup(size=3))
    async with pilotage_env.workloads(stages=stages):
        began = pilotage_env.clock()
        await pilotage_env.run_until_idle()
        found = await pilotage_env.client.get(Backup, "nightly", namespace="default")
        assert found.status == {"phase": "Done"}
        assert found.metadata.finalizers == []
        assert pilotage_env.clock() - began >= timedelta(seconds=5)
        log = await pilotage_env.client.get(ConfigMap, "nightly-log", namespace="default")
        assert set(log.data) == {"at"}
        events = await events_of(pilotage_env, "Backup", "nightly")
        assert events == [("Warning", "Started", "It begins", "kwok_controller")]


async def test_a_custom_resource_whose_definition_comes_later_has_its_stages(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(stages=[parsed("begin", "Backup", BACKUP, "example.com/v1")]):
        await pilotage_env.given(backup(size=3))
        await pilotage_env.run_until_idle()
        found = await pilotage_env.client.get(Backup, "nightly", namespace="default")
        assert found.status == {"phase": "Running"}


def counting(name: str, weight: int) -> FileStage:
    spec = f"""
  weight: {weight}
  selector: {{matchExpressions: [{{key: .data.chosen, operator: DoesNotExist}}]}}
  steps: [{{patch: {{template: "data: {{chosen: {name}}}"}}}}]
"""
    return parsed(name, "ConfigMap", spec)


async def chosen(env: Environment, seed: int) -> list[str]:
    """Which stage each of thirty ConfigMaps has had."""
    options = WorkloadOptions(controllers=("kubelet",), seed=seed, stages=[counting("rare", 1), counting("usual", 9)])
    names = [f"seed-{seed}-{number}" for number in range(30)]
    await env.given(*(ConfigMap(metadata=pt.ObjectMeta(name=name, namespace=f"of-{seed}")) for name in names))
    async with env.workloads(options):
        await env.run_until_idle()
        return [(await env.client.get(ConfigMap, name, namespace=f"of-{seed}")).data["chosen"] for name in names]


async def test_a_stage_is_chosen_by_its_weight_and_the_seed(pilotage_env: Environment) -> None:
    counts = Counter(await chosen(pilotage_env, 1))
    assert set(counts) == {"rare", "usual"}
    assert counts["usual"] > 20


async def test_a_delay_counts_from_the_version_of_the_object(pilotage_env: Environment) -> None:
    spec = "  selector: {}\n  delay: {durationMilliseconds: 60000}\n  next: {delete: true}\n"
    async with pilotage_env.workloads(stages=[parsed("expire", "ConfigMap", spec)]):
        await pilotage_env.given(ConfigMap(metadata=pt.ObjectMeta(name="c", namespace="default")))
        await pass_time(pilotage_env, 40)
        await pilotage_env.client.patch(ConfigMap, {"data": {"a": "b"}}, name="c", namespace="default")
        await pass_time(pilotage_env, 40)
        assert await pilotage_env.client.find(ConfigMap, "c", namespace="default") is not None
        await pilotage_env.run_until_idle()
        assert await pilotage_env.client.find(ConfigMap, "c", namespace="default") is None


async def test_a_stage_that_fails_is_logged_once(pilotage_env: Environment, caplog: pytest.LogCaptureFixture) -> None:
    spec = "  selector: {}\n  steps: [{patch: {template: '{{ index .data 1 }}'}}]\n"
    with caplog.at_level(logging.ERROR, "pilotage.workloads"):
        async with pilotage_env.workloads(stages=[parsed("broken", "ConfigMap", spec)]):
            await pilotage_env.given(ConfigMap(metadata=pt.ObjectMeta(name="c", namespace="default"), data={"a": "b"}))
            await pilotage_env.run_until_idle()
            await pilotage_env.client.patch(ConfigMap, {"data": {"c": "d"}}, name="c", namespace="default")
            await pilotage_env.run_until_idle()
    lines = [record.getMessage() for record in caplog.records if "name=c" in record.getMessage()]
    assert len(lines) == 1
    assert "stage=broken" in lines[0]
    assert "spec.steps[0].patch.template line 1" in lines[0]


async def test_a_patch_that_the_server_refuses_is_not_tried_again(
    pilotage_env: Environment, caplog: pytest.LogCaptureFixture
) -> None:
    spec = "  selector: {}\n  steps: [{patch: {template: 'data: 5'}}]\n"
    with caplog.at_level(logging.ERROR, "pilotage.workloads"):
        async with pilotage_env.workloads(stages=[parsed("wrong", "ConfigMap", spec)]):
            await pilotage_env.given(ConfigMap(metadata=pt.ObjectMeta(name="c", namespace="default")))
            await pilotage_env.run_until_idle()
            await pass_time(pilotage_env, 60)
    assert sum("name=c" in record.getMessage() for record in caplog.records) == 1
