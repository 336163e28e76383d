"""Informer injection: GPUs from the node's Device API, everything else from the cluster, in one manager."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

import pilotage as pt
from pilotage import device
from pilotage.device.v1alpha1 import GPU
from pilotage.grpc.rpc import Code, RPCError
from pilotage.types.core.v1 import ConfigMap

from ..environments import Environment
from .client.fakes import device_server, gpu
from .client.serving import serving, socket_target

OPTIONS = pt.ManagerOptions(handle_signals=False)
GPU_KIND = pt.GroupVersionKind("device.nvidia.com", "v1alpha1", "GPU")
WITHIN = 100.0


@asynccontextmanager
async def started(manager: pt.Manager) -> AsyncIterator[None]:
    """The manager runs for the length of the block."""
    async with asyncio.timeout(WITHIN):
        await manager.run_until_idle()
        yield


class Recorder:
    """A reconciler that records its requests."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.seen: list[str] = []
        self.news = asyncio.Event()

    async def reconcile(self, request: pt.Request) -> pt.Result:
        found = await self.client.find(GPU, request.name)
        self.seen.append(f"{request.name} {'gone' if found is None else found.spec.uuid}")
        self.news.set()
        return pt.Result()

    async def saw(self, line: str) -> None:
        while line not in self.seen:
            self.news.clear()
            await self.news.wait()


# The short way


@pytest.mark.covers("D4")
async def test_gpus_are_read_from_the_cache_and_written_to_the_device_api() -> None:
    async with serving(gpu("gpu-0")) as target, pt.Manager(pt.Cluster.none(), OPTIONS) as manager:
        manager.add_device_api(str(target))
        recorder = Recorder(manager)
        pt.ControllerBuilder(manager).for_(GPU).complete(recorder)
        async with started(manager):
            await recorder.saw("gpu-0 GPU-gpu-0")
            client = manager.client
            assert [one.metadata.name for one in await client.list(GPU)] == ["gpu-0"]
            made = await client.create(gpu("gpu-1"))
            assert (await client.get(GPU, "gpu-1")).metadata.uid == made.metadata.uid
            await recorder.saw("gpu-1 GPU-gpu-1")
            made.metadata.labels["rack"] = "a"
            await client.update(made)
            assert (await client.get(GPU, "gpu-1")).metadata.labels == {"rack": "a"}
            assert [one.metadata.name for one in await client.list(GPU, labels={"rack": "a"})] == ["gpu-1"]
            patched = await client.patch(
                GPU, {"status": {"recommendedAction": "COMPONENT_RESET"}}, name="gpu-1", subresource="status"
            )
            assert patched.status.recommended_action == "COMPONENT_RESET"
            assert (await client.get(GPU, "gpu-1")).status.recommended_action == "COMPONENT_RESET"
            await client.delete(GPU, "gpu-1")
            assert await client.find(GPU, "gpu-1") is None
            await recorder.saw("gpu-1 gone")


@pytest.mark.virtual_time
async def test_a_read_after_each_of_many_writes_shows_the_write() -> None:
    async with device_server(gpu("gpu-0")) as server, device.Devices(channel=server) as devices:
        async with pt.Manager(pt.Cluster.none(), OPTIONS) as manager:
            manager.add_device_api(devices)
            await manager.run_until_idle()
            for number in range(50):
                written = await manager.client.patch(GPU, {"metadata": {"labels": {"n": str(number)}}}, name="gpu-0")
                found = await manager.client.get(GPU, "gpu-0")
                assert int(found.metadata.resource_version) >= int(written.metadata.resource_version)
                assert found.metadata.labels["n"] == str(number)
        assert not server.closed
    assert server.closed


async def test_all_forms_of_a_gpu_are_known_without_discovery() -> None:
    async with serving(gpu("gpu-0", rack="a")) as target, pt.Manager(pt.Cluster.none(), OPTIONS) as manager:
        manager.add_device_api(str(target))
        assert manager.rest_mapper.kind_for("gpus") == GPU_KIND
        async with started(manager):
            assert (await manager.client.get(GPU_KIND, "gpu-0"))["spec"]["uuid"] == "GPU-gpu-0"
            assert (await manager.client.get(pt.metadata_only(GPU), "gpu-0")).metadata.labels == {"rack": "a"}
            assert (await manager.api_reader.get(GPU, "gpu-0")).spec.uuid == "GPU-gpu-0"
            for reader in (manager.client, manager.api_reader):
                with pytest.raises(pt.InvalidDefinition, match=r"Cluster\.none\(\) has no API server"):
                    await reader.get(ConfigMap, "a", namespace="b")
            with pytest.raises(pt.errors.NoMatch):
                await manager.client.get(pt.GroupVersionKind("device.nvidia.com", "v1alpha1", "Switch"), "a")


@pytest.mark.parametrize("opened", [True, False])
async def test_it_is_closed_with_the_manager_whether_it_was_added_before_or_after_its_opening(opened: bool) -> None:
    async with serving(gpu("gpu-0")) as target:
        manager = pt.Manager(pt.Cluster.none(), OPTIONS)
        devices = None if opened else manager.add_device_api(str(target))
        async with manager:
            devices = devices or manager.add_device_api(str(target))
            async with started(manager):
                assert len(await manager.client.list(GPU)) == 1
        with pytest.raises(pt.errors.ConnectionLost, match="closed"):
            await devices.v1alpha1.gpus.list()


async def test_it_is_added_once_and_before_the_start() -> None:
    async with serving() as target, pt.Manager(pt.Cluster.none(), OPTIONS) as manager:
        manager.add_device_api(str(target))
        with pytest.raises(pt.InvalidDefinition, match="already"):
            manager.add_device_api(str(target))
        await manager.run_until_idle()
        with pytest.raises(pt.manager.AlreadyStarted, match="Device API"):
            manager.add_device_api(str(target))


async def test_managers_of_one_cluster_share_one_connection_and_another_one_is_refused() -> None:
    async with serving(gpu("gpu-0")) as target, device.connect(target) as devices, pt.Cluster.embedded() as cluster:
        async with pt.Manager(cluster, OPTIONS) as one, pt.Manager(cluster, OPTIONS) as other:
            for manager in (one, other):
                assert manager.add_device_api(devices) is devices
                await manager.run_until_idle()
            with pytest.raises(pt.InvalidDefinition, match="share"):
                pt.Manager(cluster, OPTIONS).add_device_api(str(target))
            await one.client.patch(GPU, {"metadata": {"labels": {"rack": "a"}}}, name="gpu-0")
            for manager in (one, other):
                assert (await manager.client.get(GPU, "gpu-0")).metadata.labels == {"rack": "a"}
            await other.client.delete(GPU, "gpu-0")
            assert await one.client.find(GPU, "gpu-0") is None
        assert len(await devices.v1alpha1.gpus.list()) == 0  # it is still open


@pytest.mark.parametrize("opened", [True, False])
async def test_a_cluster_that_outlives_the_manager_can_have_another_with_devices(opened: bool) -> None:
    async with serving(gpu("gpu-0")) as target, pt.Cluster.embedded() as cluster:
        for _ in range(2):
            manager = pt.Manager(cluster, OPTIONS)
            if not opened:
                manager.add_device_api(str(target))
            async with manager:
                if opened:
                    manager.add_device_api(str(target))
                async with started(manager):
                    assert len(await manager.client.list(GPU)) == 1
            with pytest.raises(pt.errors.NoMatch):
                await cluster.client.list(GPU)


async def test_gpus_are_read_before_this_process_leads_and_reconciled_when_it_does() -> None:
    options = pt.ManagerOptions(
        handle_signals=False,
        leader_election=True,
        leader_election_id="gpus",
        leader_election_namespace="default",
        leader_election_release_on_cancel=True,
    )
    async with (
        asyncio.timeout(WITHIN),
        serving(gpu("gpu-0")) as target,
        device.connect(target) as devices,
        pt.Cluster.embedded() as cluster,
        pt.Manager(cluster, options) as second,
    ):
        recorder = Recorder(second)
        async with pt.Manager(cluster, options) as first:
            first.add_device_api(devices)
            second.add_device_api(devices)
            leading = Recorder(first)
            pt.ControllerBuilder(first).for_(GPU).complete(leading)
            pt.ControllerBuilder(second).for_(GPU).complete(recorder)
            await first.run_until_idle()
            running = asyncio.ensure_future(second.start())
            await second.cache.wait_for_sync()
            assert (await second.client.get(GPU, "gpu-0")).spec.uuid == "GPU-gpu-0"
            assert leading.seen == ["gpu-0 GPU-gpu-0"]
            assert recorder.seen == []
        await recorder.saw("gpu-0 GPU-gpu-0")
        running.cancel()
        await asyncio.wait([running])


# Hybrid


async def test_other_kinds_come_from_the_cluster(environment: Environment) -> None:
    """One reconciler on a GPU and what it owns in the cluster, in every environment."""
    namespace = environment.namespace
    async with serving(gpu("gpu-0")) as target, pt.Manager(environment.cluster(), OPTIONS) as manager:
        manager.add_device_api(str(target))
        client = manager.client

        class Mirror:
            async def reconcile(self, request: pt.Request) -> pt.Result:
                found = await client.get(GPU, request.name)
                wanted = {"uuid": found.spec.uuid, "rack": found.metadata.labels.get("rack", "")}
                there = await client.find(ConfigMap, request.name, namespace=namespace)
                if there is None:
                    metadata = pt.ObjectMeta(name=request.name, namespace=namespace)
                    await client.create(ConfigMap(metadata=metadata, data=wanted))
                elif there.data != wanted:
                    there.data = wanted
                    await client.update(there)
                return pt.Result()

        pt.ControllerBuilder(manager).for_(GPU).complete(Mirror())
        async with started(manager):
            await manager.run_until_idle()
            assert (await client.get(ConfigMap, "gpu-0", namespace=namespace)).data["uuid"] == "GPU-gpu-0"
            await client.patch(GPU, {"metadata": {"labels": {"rack": "a"}}}, name="gpu-0")
            await manager.run_until_idle()
            assert (await client.get(ConfigMap, "gpu-0", namespace=namespace)).data["rack"] == "a"
            with pytest.raises(pt.errors.NoMatch):
                await client.get(pt.GroupVersionKind("nowhere.pilotage.dev", "v1", "Nothing"), "a")
            assert manager.rest_mapper.kind_for("gpus") == GPU_KIND
            assert manager.rest_mapper.kind_for("configmaps").kind == "ConfigMap"


async def test_a_cluster_that_does_not_answer_does_not_stop_gpus() -> None:
    cluster = pt.Cluster.connect("http://127.0.0.1:9")
    async with serving(gpu("gpu-0")) as target, pt.Manager(cluster, OPTIONS) as manager:
        manager.add_device_api(str(target))
        recorder = Recorder(manager)
        pt.ControllerBuilder(manager).for_(GPU).complete(recorder)
        async with started(manager):
            await recorder.saw("gpu-0 GPU-gpu-0")
            assert (await manager.client.get(GPU_KIND, "gpu-0"))["spec"]["uuid"] == "GPU-gpu-0"
            with pytest.raises(pt.errors.ConnectionLost):
                await manager.client.get(pt.GroupVersionKind("apps", "v1", "Deployment"), "a", namespace="b")
            await manager.client.patch(GPU, {"metadata": {"labels": {"rack": "a"}}}, name="gpu-0")
            assert (await manager.client.get(GPU, "gpu-0")).metadata.labels == {"rack": "a"}


async def test_a_device_api_that_does_not_answer_does_not_stop_the_cluster() -> None:
    async with pt.Cluster.embedded() as cluster:
        with socket_target() as target:
            async with pt.Manager(cluster, OPTIONS) as manager:
                manager.add_device_api(str(target))
                async with started(manager):
                    client = manager.client
                    metadata = pt.ObjectMeta(name="a", namespace="default")
                    await client.create(ConfigMap(metadata=metadata, data={"a": "b"}))
                    assert (await client.get(ConfigMap, "a", namespace="default")).data == {"a": "b"}
                    with pytest.raises(pt.errors.ConnectionLost):
                        await client.api_reader.get(GPU, "gpu-0")
                    reading = asyncio.ensure_future(client.get(GPU, "gpu-0"))
                    async with serving(gpu("gpu-0"), target=target):
                        assert (await reading).spec.uuid == "GPU-gpu-0"


async def test_a_definition_of_the_group_in_the_cluster_is_passed_over() -> None:
    """The CRD may be installed on the cluster too: the GPUs of the node are used."""
    async with serving(gpu("gpu-0")) as target, pt.Cluster.embedded() as cluster:
        await cluster.install(GPU)
        await cluster.client.create(gpu("of-the-cluster"))
        async with pt.Manager(cluster, OPTIONS) as manager:
            manager.add_device_api(str(target))
            async with started(manager):
                assert [one.metadata.name for one in await manager.client.list(GPU)] == ["gpu-0"]
                assert [one.metadata.name for one in await manager.client.api_reader.list(GPU_KIND)] == ["gpu-0"]


async def test_a_restarted_device_api_is_followed_again() -> None:
    with socket_target() as target:
        async with pt.Manager(pt.Cluster.none(), OPTIONS) as manager:
            manager.add_device_api(str(target))
            recorder = Recorder(manager)
            pt.ControllerBuilder(manager).for_(GPU).complete(recorder)
            async with asyncio.timeout(WITHIN):
                running = asyncio.ensure_future(manager.start())
                async with serving(gpu("gpu-0"), target=target):
                    await recorder.saw("gpu-0 GPU-gpu-0")
                async with serving(gpu("gpu-1"), target=target):
                    await recorder.saw("gpu-1 GPU-gpu-1")
                    await recorder.saw("gpu-0 gone")
                running.cancel()
                await asyncio.wait([running])


@pytest.mark.virtual_time
async def test_a_server_that_has_lost_its_storage_is_read_again_though_it_counts_from_the_beginning() -> None:
    async with (
        device_server(gpu("gpu-0")) as server,
        device_server(gpu("gpu-1")) as fresh,
        device.Devices(channel=server) as devices,
        pt.Manager(pt.Cluster.none(), OPTIONS) as manager,
    ):
        manager.add_device_api(devices)
        await manager.run_until_idle()
        for number in range(20):
            await manager.client.patch(GPU, {"metadata": {"labels": {"n": str(number)}}}, name="gpu-0")
        before = await manager.client.get(GPU, "gpu-0")
        server._transport = fresh._transport
        server.failures = [RPCError(Code.OUT_OF_RANGE, "the version is ahead of the server's")]
        server.break_streams()
        await asyncio.sleep(5)  # a server waits 3 s for a version that it does not have
        [found] = await manager.client.list(GPU)
        assert found.metadata.name == "gpu-1"
        assert int(found.metadata.resource_version) < int(before.metadata.resource_version)
        await manager.client.patch(GPU, {"metadata": {"labels": {"rack": "a"}}}, name="gpu-1")
        assert (await manager.client.get(GPU, "gpu-1")).metadata.labels == {"rack": "a"}
        await manager.run_until_idle(timeout=60)


# The hook alone


@asynccontextmanager
async def injected(*gpus: GPU) -> AsyncIterator[tuple[device.Devices, pt.Manager]]:
    """A manager whose GPUs come from a hook, and which has no API server."""

    def new_informer(options: pt.InformerOptions) -> pt.Informer | None:
        return pt.Informer(devices.v1alpha1.gpus, options) if options.kind == GPU else None

    options = pt.ManagerOptions(handle_signals=False, cache=pt.CacheOptions(new_informer=new_informer))
    async with (
        serving(*gpus) as target,
        device.connect(target) as devices,
        pt.Manager(pt.Cluster.none(), options) as manager,
    ):
        yield devices, manager


@pytest.mark.covers("D4")
async def test_with_the_hook_alone_gpus_are_read_and_writes_say_what_is_missing() -> None:
    async with injected(gpu("gpu-0")) as (devices, manager):
        recorder = Recorder(manager)
        pt.ControllerBuilder(manager).for_(GPU).complete(recorder)
        async with started(manager):
            await recorder.saw("gpu-0 GPU-gpu-0")
            found = await manager.client.get(GPU, "gpu-0")
            assert len(await manager.client.list(GPU)) == 1
            for write in (manager.client.update, manager.client.update_status, manager.client.delete):
                with pytest.raises(pt.InvalidDefinition, match="add_device_api"):
                    await write(found)
            await devices.v1alpha1.gpus.delete("gpu-0")
            await recorder.saw("gpu-0 gone")


async def test_an_injected_informer_takes_the_indexes_of_the_cache() -> None:
    async with injected(gpu("gpu-0"), gpu("gpu-1")) as (_, manager):
        manager.cache.index_field(GPU, "uuid", lambda one: [one.spec.uuid])
        async with started(manager):
            found = await manager.client.list(GPU, fields={"uuid": "GPU-gpu-1"})
            assert [one.metadata.name for one in found] == ["gpu-1"]
