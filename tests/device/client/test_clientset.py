"""The clientset: how it is configured, and all of it against a server on a Unix socket."""

from __future__ import annotations

import asyncio
import ssl
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from hack.cluster.running import free_ports
from pilotage import device
from pilotage.cache.factory import SharedInformerFactory
from pilotage.cache.informer import Informer
from pilotage.cache.options import InformerOptions
from pilotage.device.access import Access, RemoteRole
from pilotage.device.client.config import Config
from pilotage.device.client.target import ENVIRONMENT, Target
from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.device.v1alpha1 import GPU
from pilotage.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    ConnectionLost,
    Gone,
    InvalidDefinition,
    MethodNotSupported,
    NoMatch,
    NotFound,
)
from pilotage.meta.conditions import set_status_condition
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import Condition
from pilotage.meta.unstructured import metadata_only
from pilotage.types.core.v1 import Pod

from ...http.certificates import Authority
from .fakes import device_server, gpu
from .serving import serving, socket_target

# Configuration


@pytest.mark.covers("D1")
def test_a_field_wins_over_the_environment_and_that_over_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENVIRONMENT, "unix:///tmp/env.sock")
    assert device.connect("unix:///tmp/field.sock").target.path == "/tmp/field.sock"
    assert device.connect().target.path == "/tmp/env.sock"
    monkeypatch.delenv(ENVIRONMENT)
    assert device.connect().target.path == "/var/run/nvidia-device-api/device-api.sock"


@pytest.mark.covers("D1")
def test_the_user_agent_is_the_sdks_unless_given() -> None:
    assert device.connect().config.user_agent.startswith("nvidia-device-api/")
    assert device.connect(user_agent="mine/1").config.user_agent == "mine/1"


@pytest.mark.covers("D1")
def test_a_config_cannot_be_changed() -> None:
    config = Config()
    with pytest.raises(FrozenInstanceError):
        config.user_agent = "x"  # type: ignore[misc]


@pytest.mark.covers("D1")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "nonsense"}, "invalid target"),
        ({"target": "node.example:1", "plaintext": True}, "TLS"),
        ({"wire": "v9"}, "v9"),
        ({"user_agent": "a\nb"}, "user agent"),
        ({"provider_id": "ü"}, "provider-id"),
        ({"metadata": {"a": "\0"}}, "metadata a"),
        ({"metadata": {"A b": "c"}}, "invalid metadata key"),
        ({"keepalive_seconds": 0}, "keepalive"),
        ({"target": "node.example:1", "ca_file": "/nowhere.pem"}, "nowhere.pem"),
        ({"target": "node.example:1", "cert_file": "/no.pem"}, "/no.pem"),
    ],
)
def test_what_cannot_work_is_refused_when_it_is_made(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidDefinition, match=message):
        device.connect(**options)  # type: ignore[arg-type]


@pytest.mark.covers("D1")
def test_an_unknown_option_is_refused_with_the_options_that_there_are() -> None:
    with pytest.raises(TypeError, match=r"^connect\(\) has no option 'provider': its options are .*, provider_id, "):
        device.connect(provider="x")  # type: ignore[call-arg]


@pytest.mark.covers("D1")
def test_an_empty_user_agent_is_none() -> None:
    with pytest.raises(InvalidDefinition, match="user agent"):
        Config(user_agent="")


def test_importing_the_kinds_and_the_package_loads_nothing_heavy() -> None:
    heavy = "{'google.protobuf', 'hpack', 'h2', 'grpclib', 'ssl'} & set(sys.modules)"
    for statement in ("import pilotage.device", "from pilotage.device.v1alpha1 import GPU"):
        ran = subprocess.run(
            [sys.executable, "-c", f"import sys; {statement}; print(sorted({heavy}))"],
            check=True,
            capture_output=True,
            text=True,
        )
        assert ran.stdout.strip() == "[]"


@pytest.mark.parametrize("missing", ["hpack", "google.protobuf"])
def test_a_missing_extra_is_named_when_connecting_not_when_importing(missing: str) -> None:
    program = f"""
import sys
sys.modules[{missing!r}] = None
import pilotage as pt
from pilotage import device
try:
    device.connect()
except pt.errors.MissingExtra as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert "pilotage[device]" in ran.stdout


# Against a server


@pytest.mark.covers("D4")
async def test_gpus_are_read() -> None:
    async with serving(gpu("gpu-0"), gpu("gpu-1", ready=False, rack="b")) as target, device.connect(target) as devices:
        gpus = devices.v1alpha1.gpus
        found = await gpus.list()
        assert [one.metadata.name for one in found] == ["gpu-0", "gpu-1"]
        assert found[1].status.conditions[0].status == "False"
        assert found.resource_version.isdecimal()
        assert [one.metadata.name for one in await gpus.list(labels={"rack": "b"})] == ["gpu-1"]
        first = await gpus.get("gpu-0")
        assert first.spec.uuid == "GPU-gpu-0"
        assert first.metadata.namespace == ""
        assert await gpus.find("gpu-9") is None
        with pytest.raises(NotFound, match="gpu-9"):
            await gpus.get("gpu-9")


async def test_a_watch_shows_what_there_is_and_then_each_change() -> None:
    async with serving(gpu("gpu-0")) as target, device.connect(target) as devices:
        gpus = devices.v1alpha1.gpus
        async with gpus.watch() as events:
            first = await anext(events)
            assert (first.type, first.object.metadata.name) == ("ADDED", "gpu-0")
            changed = await gpus.patch("gpu-0", {"metadata": {"labels": {"rack": "a"}}})
            second = await anext(events)
            assert (second.type, second.object.metadata.labels) == ("MODIFIED", {"rack": "a"})
            assert second.header.resource_version == changed.metadata.resource_version
        version = changed.metadata.resource_version
        async with gpus.watch(resource_version=version) as events:
            await gpus.delete("gpu-0")
            last = await anext(events)
            assert (last.type, last.object.metadata.name) == ("DELETED", "gpu-0")
            assert int(last.header.resource_version) > int(version)


async def test_gpus_are_written() -> None:
    async with serving() as target, device.connect(target) as devices:
        gpus = devices.v1alpha1.gpus
        made = await gpus.create(gpu("gpu-0"))
        assert made.metadata.uid
        assert made.metadata.generation == 1
        with pytest.raises(AlreadyExists):
            await gpus.create(gpu("gpu-0"))
        stale = await gpus.get("gpu-0")
        made.metadata.labels["rack"] = "a"
        await gpus.update(made)
        assert made.metadata.generation == 1
        stale.metadata.labels["rack"] = "b"
        with pytest.raises(Conflict):
            await gpus.update(stale)
        set_status_condition(made.status.conditions, Condition(type="Ready", status="False", reason="Broken"))
        await gpus.update_status(made)
        assert (await gpus.get("gpu-0")).status.conditions[0].reason == "Broken"
        patched = await gpus.patch_status("gpu-0", {"status": {"recommendedAction": "COMPONENT_RESET"}})
        assert patched.status.recommended_action == "COMPONENT_RESET"
        await gpus.patch(made, [{"op": "remove", "path": "/metadata/labels/rack"}])
        assert made.metadata.labels == {}
        with pytest.raises(Conflict):
            await gpus.delete("gpu-0", uid="another")
        await gpus.delete(made)
        with pytest.raises(NotFound):
            await gpus.delete("gpu-0")


async def test_a_heartbeat_is_answered_with_whether_everything_is_known() -> None:
    async with serving(gpu("gpu-0")) as target, device.connect(target, provider_id="test") as devices:
        assert await devices.v1alpha1.gpus.heartbeat(["gpu-0"])
        assert not await devices.v1alpha1.gpus.heartbeat(["gpu-0", "gpu-1"])


async def test_the_client_is_an_ordinary_one() -> None:
    async with serving(gpu("gpu-0", rack="a")) as target, device.connect(target) as devices:
        kind = GroupVersionKind("device.nvidia.com", "v1alpha1", "GPU")
        assert (await devices.client.get(kind, "gpu-0"))["spec"]["uuid"] == "GPU-gpu-0"
        assert (await devices.client.get(metadata_only(GPU), "gpu-0")).metadata.labels == {"rack": "a"}
        with pytest.raises(NoMatch):
            await devices.client.get(GroupVersionKind("", "v1", "Pod"), "a", namespace="b")
        with pytest.raises(BadRequest, match="dry run"):
            await devices.client.dry_run().create(gpu("gpu-1"))


async def test_a_forgotten_version_is_gone() -> None:
    async with serving(gpu("gpu-0")) as target, device.connect(target) as devices:
        with pytest.raises(Gone) as raised:
            async with devices.v1alpha1.gpus.watch(resource_version="7") as events:
                await anext(events)
        assert (raised.value.group, raised.value.kind) == ("device.nvidia.com", "GPU")


async def test_the_error_of_a_missing_server_has_its_address() -> None:
    with socket_target() as target:
        async with device.connect(target) as devices:
            with pytest.raises(ConnectionLost, match=target.path) as raised:
                await devices.v1alpha1.gpus.list()
            assert not raised.value.sent


async def test_a_call_finds_a_server_that_starts_within_a_second() -> None:
    with socket_target() as target:
        async with device.connect(target) as devices:
            listing = asyncio.ensure_future(devices.v1alpha1.gpus.list())
            await asyncio.sleep(0)
            async with serving(target=target):
                assert list(await listing) == []


async def test_a_connection_is_made_again_after_a_restart() -> None:
    with socket_target() as target:
        async with device.connect(target) as devices:
            for _ in range(3):
                async with serving(gpu("gpu-0"), target=target):
                    assert len(await devices.v1alpha1.gpus.list()) == 1


async def test_writes_to_a_read_only_generation_say_so() -> None:
    async with serving(gpu("gpu-0")) as target, device.connect(target, wire="v2") as devices:
        assert [one.metadata.name for one in await devices.v1alpha1.gpus.list()] == ["gpu-0"]
        with pytest.raises(MethodNotSupported, match="read-only"):
            await devices.v1alpha1.gpus.create(gpu("gpu-1"))


async def test_a_server_elsewhere_is_reached_over_tls_with_a_certificate_on_both_sides(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    own = authority.issue("server")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.ca_file)
    context.load_cert_chain(own.cert_file, own.key_file)
    context.verify_mode = ssl.CERT_REQUIRED
    target = Target(host="127.0.0.1", port=free_ports(1)[0])
    options = DeviceServerOptions(
        targets=[target], ssl=context, access=Access(remote=RemoteRole.READ), gate_seconds=0.0, shutdown_grace=1.0
    )
    shown = authority.issue("client")
    ca_file = authority.ca_file
    async with DeviceServer(options):
        async with device.connect(
            target, ca_file=ca_file, cert_file=shown.cert_file, key_file=shown.key_file
        ) as devices:
            assert list(await devices.v1alpha1.gpus.list()) == []
        async with device.connect(target, ca_file=ca_file) as devices:
            with pytest.raises(ConnectionLost):
                await devices.v1alpha1.gpus.list()
        async with device.connect(target) as devices:
            with pytest.raises(ConnectionLost, match="certificate"):
                await devices.v1alpha1.gpus.list()


# Informers


async def test_an_informer_can_be_made_of_gpus() -> None:
    async with serving(gpu("gpu-0")) as target, device.connect(target) as devices:
        informer: Informer[GPU] = Informer(devices.v1alpha1.gpus, InformerOptions(GPU))
        running = asyncio.ensure_future(informer.run())
        await informer.wait_for_sync()
        assert informer.get("gpu-0").spec.uuid == "GPU-gpu-0"
        made = await devices.v1alpha1.gpus.create(gpu("gpu-1"))
        await informer.wait_for_version(int(made.metadata.resource_version), timeout=60)
        assert [one.metadata.name for one in informer.list()] == ["gpu-0", "gpu-1"]
        running.cancel()


@pytest.mark.covers("D4")
async def test_the_shared_informer_factory_takes_devices() -> None:
    async with serving(gpu("gpu-0")) as target, device.connect(target) as devices:
        factory = SharedInformerFactory(devices)
        lister = factory.lister(GPU)
        metadata = factory.lister(metadata_only(GPU))
        async with factory:
            await factory.wait_for_cache_sync()
            assert lister.get("gpu-0").spec.uuid == "GPU-gpu-0"
            assert metadata.get("gpu-0").metadata.name == "gpu-0"
        with pytest.raises(NoMatch, match="Pod"):
            await devices.lister_watcher_for(InformerOptions(Pod))


async def test_an_informer_is_back_and_lists_what_has_changed() -> None:
    with socket_target() as target:
        async with device.connect(target) as devices:
            informer: Informer[GPU] = Informer(devices.v1alpha1.gpus, InformerOptions(GPU))
            running = asyncio.ensure_future(informer.run())
            async with serving(gpu("gpu-0"), target=target):
                await informer.wait_for_sync()
            async with serving(gpu("gpu-1"), target=target):
                async with device.connect(target) as other:
                    version = (await other.v1alpha1.gpus.list()).resource_version
                    await informer.wait_for_version(int(version))
                assert [one.metadata.name for one in informer.list()] == ["gpu-1"]
            running.cancel()


async def test_on_sqlite_a_watch_goes_on_after_a_restart(tmp_path: Path) -> None:
    with socket_target() as target:
        async with device.connect(target) as devices, devices.v1alpha1.gpus.follow() as events:
            async with serving(gpu("gpu-0"), target=target, storage=f"sqlite:{tmp_path}/d.db"):
                seen = [await anext(events)]
            async with serving(gpu("gpu-1"), target=target, storage=f"sqlite:{tmp_path}/d.db"):
                while seen[-1].object.metadata.name != "gpu-1":
                    seen.append(await anext(events))
            names = [(one.type, one.object.metadata.name) for one in seen]
            assert names.count(("ADDED", "gpu-0")) == 1
            assert names.count(("ADDED", "gpu-1")) == 1


@pytest.mark.virtual_time
async def test_an_informer_of_a_server_without_versions_lists_again_after_a_break() -> None:
    """As with NVIDIA's fake server of V2, whose watch cannot resume."""
    async with device_server(gpu("gpu-0")) as server, device.Devices(channel=server) as devices:
        informer: Informer[GPU] = Informer(devices.v1alpha1.gpus, InformerOptions(GPU))
        devices.transport._versioned = False
        running = asyncio.ensure_future(informer.run())
        await informer.wait_for_sync()
        await asyncio.sleep(1)
        server.break_streams()
        await asyncio.sleep(1)
        assert server.streams == 1
        running.cancel()


def test_a_target_may_be_given_as_one() -> None:
    assert device.connect(Target(path="/tmp/a.sock")).target == Target(path="/tmp/a.sock")
