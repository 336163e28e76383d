"""Tests on a cluster: the same as on the embedded API server, and nothing is left of them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import pilotage as pt
from hack.cluster.running import RealCluster
from pilotage.client.config import Config, load
from pilotage.client.credentials.credentials import Material, StaticCredentials
from pilotage.rest import APIRequest, Response, TransportWrapper, Verb
from pilotage.testing.remote import Remote, remote_environment
from pilotage.testing.remoteloop import RemoteLoop
from pilotage.types.authentication.v1 import TokenReview, TokenReviewSpec
from pilotage.types.authorization.v1 import (
    ResourceAttributes,
    SelfSubjectAccessReview,
    SelfSubjectAccessReviewSpec,
)
from pilotage.types.core.v1 import ConfigMap, Namespace

from ..environments import DEFINITION, over_https

cluster = pytest.mark.cluster
GREETINGS = Path(__file__).parents[2] / "examples" / "test_greetings.py"


class SpecV1(pt.Model):
    schedule: str = ""


class SpecV2(pt.Model):
    minute: str = ""


@pt.resource(group="remote.pilotage.dev", version="v2", plural="schedules")
class Schedule(pt.Resource):
    spec: SpecV2


@pt.resource(group="remote.pilotage.dev", version="v1", kind="Schedule", plural="schedules", storage=False)
class ScheduleV1(pt.Resource):
    spec: SpecV1

    def convert_to(self) -> Schedule:
        return Schedule(metadata=self.metadata, spec=SpecV2(minute=self.spec.schedule))

    @classmethod
    def convert_from(cls, schedule: Schedule) -> ScheduleV1:
        return cls(metadata=schedule.metadata, spec=SpecV1(schedule=schedule.spec.minute))


@asynccontextmanager
async def served(folder: Path) -> AsyncIterator[tuple[Config, pt.Client]]:
    """Our own API server over HTTPS, and a client that sees what is left on it."""
    async with over_https(folder) as server:
        credentials = StaticCredentials(Material("secret"))
        yield Config(server.cluster().server_url, credentials, ca_file=str(folder / "server.crt")), server.client


@cluster
def test_the_example_passes_on_a_cluster_as_it_stands(real_control_plane: RealCluster) -> None:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--pilotage-cluster", str(GREETINGS)]
    environment = os.environ | {"KUBECONFIG": str(real_control_plane.kubeconfig)}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert "5 passed" in ran.stdout, ran.stdout
    assert f"pilotage: tests run on {real_control_plane.url}" in ran.stdout


@cluster
def test_what_a_test_has_created_is_deleted_with_its_finalizers_and_namespaces(real_control_plane: RealCluster) -> None:
    config = load(str(real_control_plane.kubeconfig))

    async def create() -> None:
        async with remote_environment(config) as env:
            held = ConfigMap(metadata=pt.ObjectMeta(name="held", namespace="of-a-test", finalizers=["testing.dev/x"]))
            await env.given(held)
            await env.manager.client.create(ConfigMap(metadata=pt.ObjectMeta(name="free", namespace="of-a-test")))
            await env.client.delete(held)

    async def left() -> list[str]:
        async with pt.Cluster.connect(kubeconfig=str(real_control_plane.kubeconfig)) as cluster:
            maps = await cluster.client.list(ConfigMap, namespace="of-a-test")
            namespace = await cluster.client.find(Namespace, "of-a-test")
            return [*(one.metadata.name for one in maps), *([] if namespace is None else ["of-a-test"])]

    with asyncio.Runner(loop_factory=RemoteLoop) as runner:
        runner.run(create())
    assert asyncio.run(left()) == []


async def test_reviews_which_are_not_stored_are_not_deleted(tmp_path: Path) -> None:
    async with served(tmp_path) as (config, client):
        async with remote_environment(config) as env:
            read = SelfSubjectAccessReviewSpec(resource_attributes=ResourceAttributes(verb="get", resource="pods"))
            await env.client.create(SelfSubjectAccessReview(spec=read))
            await env.client.create(TokenReview(spec=TokenReviewSpec(token="unknown")))
            await env.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default")))
        assert await client.find(ConfigMap, "a", namespace="default") is None


async def test_an_object_that_was_updated_in_an_old_version_is_deleted_without_the_conversion_webhook(
    tmp_path: Path,
) -> None:
    options = pt.ManagerOptions(webhook_server_options=pt.webhook.WebhookServerOptions(host="127.0.0.1", port=0))
    async with served(tmp_path) as (config, client):
        async with remote_environment(config, options) as env:
            pt.WebhookBuilder(env.manager).for_(Schedule).with_conversion(ScheduleV1).complete()
            async with env.running():
                await env.cluster.install(Schedule, ScheduleV1)
                await env.client.create(Schedule(metadata=pt.ObjectMeta(name="a", namespace="default"), spec=SpecV2()))
                old = await env.client.get(ScheduleV1, "a", namespace="default")
                old.spec.schedule = "5"
                await env.client.update(old)
        assert await client.find(DEFINITION, "schedules.remote.pilotage.dev") is None


class KeepingTransport(TransportWrapper):
    """A transport to an API server that deletes no object with the name `kept`."""

    async def call(self, request: APIRequest) -> Response:
        if request.verb is Verb.DELETE and request.name == "kept":
            raise pt.Forbidden("it is kept")
        return await self._inner.call(request)


@pytest.mark.virtual_time
async def test_everything_else_is_deleted_where_one_object_cannot_be() -> None:
    embedded = pt.Cluster.embedded()
    embedded.wrap_transport(KeepingTransport)
    remote = Remote(embedded)
    async with embedded:
        cleaning = remote.cleaned_up()
        await cleaning.__aenter__()
        for name in ("kept", "free"):
            await embedded.client.create(ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default")))
        with pytest.raises(pt.Forbidden, match="it is kept"):
            await cleaning.__aexit__(None, None, None)
        left = [one.metadata.name for one in await embedded.client.list(ConfigMap, namespace="default")]
        assert left == ["kept"]
