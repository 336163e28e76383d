"""The logs of simulated Pods: what a test lets them say, as the API server and kubectl show it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import pilotage as pt
from hack.cluster.running import binaries
from pilotage.cli.serve.options import ServeOptions
from pilotage.cli.serve.server import serve_cluster
from pilotage.errors import BadRequest, InvalidDefinition
from pilotage.meta.kinds import GroupVersionResource
from pilotage.meta.models import ObjectMeta
from pilotage.rest import APIRequest, Verb
from pilotage.testing.environment import Environment
from pilotage.types.core.v1 import Container, Pod, PodSpec
from pilotage.workloads import WorkloadOptions
from pilotage.workloads.faults.fault import Fault
from pilotage.workloads.workloads import Workloads
from tests.environments import WITHIN
from tests.workloads.kit import pass_time

PODS = GroupVersionResource("", "v1", "pods")
LOGS = "workloads.pilotage.dev/logs"


@pytest.fixture
async def workloads(pilotage_env: Environment) -> AsyncIterator[Workloads]:
    async with pilotage_env.workloads() as made:
        yield made


def pod(name: str = "web", *containers: str, **annotations: str) -> Pod:
    spec = PodSpec(containers=[Container(name=each, image="app") for each in containers or ("web",)])
    return Pod(metadata=ObjectMeta(name=name, namespace="default", annotations=annotations), spec=spec)


async def log(env: Environment, name: str = "web", action: str = "log", **query: str) -> str:
    request = APIRequest(Verb.GET, PODS, "default", name, subresource=action, parameters=query)
    return (await env.cluster.transport.call(request)).body.decode()


async def test_the_log_of_a_pod_has_what_the_test_lets_it_say(pilotage_env: Environment, workloads: Workloads) -> None:
    await pilotage_env.given(pod())
    await pilotage_env.run_until_idle()
    workloads.say("web", "one\ntwo")
    workloads.say("web", "three")
    assert await log(pilotage_env) == "one\ntwo\nthree\n"
    assert await log(pilotage_env, tailLines="1") == "three\n"
    assert await log(pilotage_env, tailLines="0") == ""


async def test_a_log_begins_with_the_lines_of_the_annotation(pilotage_env: Environment, workloads: Workloads) -> None:
    await pilotage_env.given(pod(**{LOGS: "starting\nready"}))
    await pilotage_env.run_until_idle()
    workloads.say("web", "one")
    assert await log(pilotage_env) == "starting\nready\none\n"


async def test_each_line_has_its_time(pilotage_env: Environment, workloads: Workloads) -> None:
    await pilotage_env.given(pod())
    await pilotage_env.run_until_idle()
    now = pilotage_env.clock()
    workloads.say("web", "one")
    text = await log(pilotage_env, timestamps="true")
    assert text == f"{now:%Y-%m-%dT%H:%M:%S.%f}Z one\n"
    await pass_time(pilotage_env, 60)
    workloads.say("web", "two")
    assert await log(pilotage_env, sinceSeconds="10") == "two\n"
    assert await log(pilotage_env, sinceTime=f"{now:%Y-%m-%dT%H:%M:%S}Z") == "one\ntwo\n"


async def test_containers_have_logs_of_their_own(pilotage_env: Environment, workloads: Workloads) -> None:
    await pilotage_env.given(pod("web", "main", "proxy"))
    await pilotage_env.run_until_idle()
    workloads.say("web", "of main")
    workloads.say("web", "of proxy", container="proxy")
    assert await log(pilotage_env, container="main") == "of main\n"
    assert await log(pilotage_env, container="proxy") == "of proxy\n"
    with pytest.raises(
        BadRequest, match=r"a container name must be specified for pod web, choose one of: \[main proxy\]"
    ):
        await log(pilotage_env)
    with pytest.raises(BadRequest, match=r"container other is not valid for pod web"):
        await log(pilotage_env, container="other")


async def test_a_restarted_container_has_a_new_log(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    workloads.inject(Fault("exit", after=30))
    await env.given(pod())
    await pass_time(env, 10)
    with pytest.raises(BadRequest, match=r'previous terminated container "web" in pod "web" not found'):
        await log(env, previous="true")
    workloads.say("web", "before")
    await pass_time(env, 60)
    workloads.say("web", "after")
    assert await log(env) == "after\n"
    assert await log(env, previous="true") == "before\n"


async def test_a_container_that_waits_has_no_log(pilotage_env: Environment, workloads: Workloads) -> None:
    workloads.fail_image("app")
    await pilotage_env.given(pod())
    await pass_time(pilotage_env, 5)
    with pytest.raises(
        BadRequest, match=r'container "web" in pod "web" is waiting to start: trying and failing to pull image'
    ):
        await log(pilotage_env)


@pytest.mark.parametrize("action", ["exec", "attach", "portforward"])
async def test_there_is_no_container_to_connect_to(
    pilotage_env: Environment, workloads: Workloads, action: str
) -> None:
    await pilotage_env.given(pod())
    await pilotage_env.run_until_idle()
    message = rf'^{action} of pods "web": there is no container: the Pod is simulated \(simulated workloads\)$'
    with pytest.raises(BadRequest, match=message):
        await log(pilotage_env, action=action)


async def test_a_log_is_deleted_with_its_pod(pilotage_env: Environment, workloads: Workloads) -> None:
    env = pilotage_env
    await env.given(pod())
    await env.run_until_idle()
    workloads.say("web", "one")
    await env.client.delete(Pod, "web", namespace="default")
    await env.run_until_idle()
    await env.given(pod())
    await env.run_until_idle()
    assert await log(env) == ""


async def test_a_pod_that_does_not_exist_says_nothing(pilotage_env: Environment, workloads: Workloads) -> None:
    with pytest.raises(InvalidDefinition, match=r"^there is no Pod default/none$"):
        workloads.say("none", "one")


async def test_without_workloads_there_is_no_log(pilotage_env: Environment) -> None:
    async with pilotage_env.workloads():
        await pilotage_env.given(pod())
        await pilotage_env.run_until_idle()
    with pytest.raises(BadRequest, match="there are no nodes and no network here"):
        await log(pilotage_env)


@pytest.mark.cluster
async def test_kubectl_shows_and_follows_a_log(tmp_path: Path) -> None:
    found = binaries()
    if isinstance(found, str):
        pytest.skip(found)
    kubeconfig = tmp_path / "kubeconfig"
    options = ServeOptions(bind=("127.0.0.1", 0), kubeconfig=kubeconfig, credentials=tmp_path / "credentials")

    async def kubectl(*words: str) -> asyncio.subprocess.Process:
        command = (str(found / "kubectl"), "--kubeconfig", str(kubeconfig), "--cache-dir", str(tmp_path), *words)
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)

    async with pt.Cluster.embedded() as cluster, serve_cluster(cluster, options):
        quick = WorkloadOptions(pull_seconds=0.1, jitter_seconds=0)
        async with Workloads(cluster, quick) as workloads, asyncio.timeout(WITHIN):
            await cluster.client.create(pod(**{LOGS: "starting"}))
            await workloads.run_until_idle()
            workloads.say("web", "one")
            output, _ = await (await kubectl("logs", "web", "--tail=1")).communicate()
            assert output == b"one\n"
            following = await kubectl("logs", "-f", "web")
            assert following.stdout is not None
            assert [await following.stdout.readline() for _ in range(2)] == [b"starting\n", b"one\n"]
            workloads.say("web", "two")
            assert await following.stdout.readline() == b"two\n"
            await cluster.client.delete(Pod, "web", namespace="default")
            assert await following.wait() == 0
            await cluster.client.create(pod("other"))
            await workloads.run_until_idle()
            refused = await kubectl("exec", "other", "--", "ls")
            _, error = await refused.communicate()
            assert b"there is no container: the Pod is simulated" in error
