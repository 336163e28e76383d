"""Simulated nodes on a server."""

from __future__ import annotations

import pytest

import pilotage as pt
from pilotage.errors import InvalidDefinition
from pilotage.testing import Environment
from pilotage.types.core.v1 import Container, Event, Node, NodeStatus, Pod, PodSpec
from pilotage.workloads import WorkloadOptions
from pilotage.workloads.faults.fault import Fault
from tests.workloads.kit import pass_time

KUBELET = WorkloadOptions(controllers=("kubelet",), nodes=2)


def pod(name: str = "web", node: str = "node-1", **metadata: dict[str, str]) -> Pod:
    meta = pt.ObjectMeta(name=name, namespace="default", **metadata)  # type: ignore[arg-type]  # labels and annotations
    return Pod(metadata=meta, spec=PodSpec(node_name=node, containers=[Container(name="web", image="web:1")]))


async def phase_of(env: Environment, name: str = "web") -> str:
    found = await env.client.get(Pod, name, namespace="default")
    return (found.status.phase if found.status else None) or ""


async def test_nodes_are_ready_with_their_capacity(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET):
        nodes = await pilotage_env.client.list(Node)
        assert [node.metadata.name for node in nodes] == ["node-1", "node-2"]
        status = nodes[0].status or NodeStatus()
        assert {one.type: one.status for one in status.conditions}["Ready"] == "True"
        assert str(status.allocatable["pods"]) == "110"


async def test_a_pod_on_a_simulated_node_runs(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET) as workloads:
        await pilotage_env.client.create(pod())
        await workloads.run_until_idle()
        found = await pilotage_env.client.get(Pod, "web", namespace="default")
        assert found.status is not None
        assert found.status.phase == "Running"
        assert found.status.observed_generation == found.metadata.generation
        assert found.status.pod_ip


async def test_a_pod_on_another_node_is_left_alone(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET) as workloads:
        await pilotage_env.client.create(pod(node="elsewhere"))
        await workloads.run_until_idle()
        assert await phase_of(pilotage_env) == "Pending"


async def test_a_node_object_with_the_annotation_is_simulated(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET) as workloads:
        annotations = {"kwok.x-k8s.io/node": "fake"}
        await pilotage_env.client.create(Node(metadata=pt.ObjectMeta(name="mine", annotations=annotations)))
        await pilotage_env.client.create(pod(node="mine"))
        await pilotage_env.eventually(lambda: phase_of(pilotage_env), equals="Running")
        assert workloads.nodes_of("default") == {"mine"}


async def test_a_deleted_pod_is_removed_from_its_node(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET) as workloads:
        await pilotage_env.client.create(pod())
        await workloads.run_until_idle()
        await pilotage_env.client.delete(Pod, "web", namespace="default")
        await workloads.run_until_idle()
        assert await pilotage_env.client.find(Pod, "web", namespace="default") is None


async def test_a_deleted_pod_with_a_finalizer_ends_and_stays(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET) as workloads:
        made = pod()
        made.metadata.finalizers = ["example.com/wait"]
        await pilotage_env.client.create(made)
        await workloads.run_until_idle()
        await pilotage_env.client.delete(Pod, "web", namespace="default")
        await workloads.run_until_idle()
        assert await phase_of(pilotage_env) == "Failed"
        await pilotage_env.client.patch(Pod, {"metadata": {"finalizers": None}}, name="web", namespace="default")
        await workloads.run_until_idle()
        assert await pilotage_env.client.find(Pod, "web", namespace="default") is None


async def test_a_lost_node_changes_nothing_until_it_recovers(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET) as workloads:
        workloads.lose_node("node-1")
        await pilotage_env.client.create(pod())
        await pass_time(pilotage_env, 30)
        assert await phase_of(pilotage_env) == "Pending"
        workloads.recover_node("node-1")
        await pilotage_env.eventually(lambda: phase_of(pilotage_env), equals="Running")


async def test_a_node_that_does_not_exist_is_an_error(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET) as workloads:
        with pytest.raises(InvalidDefinition, match=r"no simulated node 'node-9'; there are: node-1, node-2"):
            workloads.lose_node("node-9")


async def test_a_fault_takes_effect_on_a_running_pod_and_ends_with_its_removal(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET) as workloads:
        await pilotage_env.client.create(pod())
        await workloads.run_until_idle()
        fault = workloads.inject(Fault("crash-loop", after=1, exit_code=3))
        await pilotage_env.eventually(lambda: workloads.waiting_reasons("default"), equals={"CrashLoopBackOff"})
        workloads.remove(fault)
        await pilotage_env.eventually(lambda: workloads.waiting_reasons("default"), equals=set())


async def test_the_annotation_of_a_pod_is_its_fault(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET) as workloads:
        await pilotage_env.client.create(pod(annotations={"workloads.pilotage.dev/fault": "oom-kill after=2s"}))
        await pilotage_env.eventually(lambda: workloads.waiting_reasons("default"), equals={"CrashLoopBackOff"})
        found = await pilotage_env.client.get(Pod, "web", namespace="default")
        assert found.status is not None
        last = found.status.container_statuses[0].last_state
        assert last is not None
        assert last.terminated is not None
        assert (last.terminated.reason, last.terminated.exit_code) == ("OOMKilled", 137)


async def test_a_fault_that_cannot_be_read_is_an_event(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET) as workloads:
        await pilotage_env.client.create(pod(annotations={"workloads.pilotage.dev/fault": "crash"}))
        await workloads.run_until_idle()
        events = await pilotage_env.client.list(Event, namespace="default")
        messages = [event.message or "" for event in events if event.reason == "InvalidFault"]
        assert messages
        assert messages[0].startswith("there is no fault 'crash'; there are: image-pull, crash-loop")
        assert await phase_of(pilotage_env) == "Running"


async def test_events_name_the_container(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET) as workloads:
        await pilotage_env.client.create(pod())
        await workloads.run_until_idle()
        await pilotage_env.run_until_idle()
        events = await pilotage_env.client.list(Event, namespace="default")
        assert {event.involved_object.field_path for event in events} == {"spec.containers{web}"}


async def test_without_events_none_are_recorded(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(WorkloadOptions(controllers=("kubelet",), events=False)) as workloads:
        await pilotage_env.client.create(pod())
        await workloads.run_until_idle()
        assert not await pilotage_env.client.list(Event, namespace="default")


async def test_the_program_does_not_see_the_calls_of_the_workloads(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads(KUBELET):
        with pilotage_env.writes(everything=True) as writes:
            await pilotage_env.client.create(pod())
            await pilotage_env.run_until_idle()
        assert await phase_of(pilotage_env) == "Running"
        writes.assert_only()


async def test_a_controller_that_does_not_exist_is_an_error(pilotage_env: Environment) -> None:
    options = WorkloadOptions(controllers=("*", "-nothing"))
    with pytest.raises(InvalidDefinition, match="there is no 'nothing'"):
        async with pilotage_env.workloads(options):
            pass
