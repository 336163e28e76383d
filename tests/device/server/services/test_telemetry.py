"""Telemetry over a socket: who may read it, its content, and that it is never stored."""

from __future__ import annotations

from pathlib import Path

import pytest

from hack.cluster.running import free_ports
from pilotage import device
from pilotage.client.retries import Retries
from pilotage.device.access import Access, RemoteRole
from pilotage.device.client.target import Target
from pilotage.device.client.telemetry import TelemetryClient
from pilotage.device.client.transport import DeviceTransport
from pilotage.device.providers.fake import FakeOptions, FakeProvider
from pilotage.device.server.deviceserver import DeviceServer
from pilotage.device.telemetry import Telemetry
from pilotage.device.wire.generation import Generation
from pilotage.errors import BadRequest, Forbidden, NotFound, ServiceUnavailable
from pilotage.grpc.channel import GRPCChannel

from ..fakes import api, gpu, server_options

FAKE = FakeProvider(FakeOptions(count=2, period=0, seed=1))


@pytest.mark.parametrize("generation", list(Generation))
async def test_a_reader_gets_telemetry_whatever_the_generation(tmp_path: Path, generation: Generation) -> None:
    options = server_options(tmp_path, providers=[FAKE], profile=generation)
    async with DeviceServer(options) as server, device.connect(server.target, wire=generation.value) as devices:
        gpus = devices.v1alpha1.gpus
        found = await gpus.telemetry("gpu-1")
        stored = await gpus.get("gpu-1")
        assert (found.name, found.uuid, found.provider) == ("gpu-1", stored.spec.uuid, "fake")
        assert found.time is not None
        assert found.temperature_celsius is not None
        assert [one.name for one in await gpus.list_telemetry()] == ["gpu-1", "gpu-2"]


async def test_telemetry_is_not_stored(tmp_path: Path) -> None:
    options = server_options(tmp_path, providers=[FAKE])
    async with DeviceServer(options) as server, device.connect(server.target, provider_id="other") as devices:
        gpus = devices.v1alpha1.gpus
        await gpus.telemetry("gpu-1")
        revision = server.registry.context.storage.revision
        await gpus.report_telemetry([Telemetry("gpu-1", temperature_celsius=99)])
        assert (await gpus.telemetry("gpu-1")).temperature_celsius == 99
        assert server.registry.context.storage.revision == revision


async def test_a_gpu_that_is_not_there_and_one_without_a_provider_are_errors(tmp_path: Path) -> None:
    async with DeviceServer(server_options(tmp_path)) as server, device.connect(server.target) as devices:
        gpus = devices.v1alpha1.gpus
        await api(server.registry).create(gpu("gpu-1"))
        with pytest.raises(NotFound, match="gpu-9"):
            await gpus.telemetry("gpu-9")
        with pytest.raises(BadRequest, match="must not be empty"):
            await gpus.telemetry("")
        with pytest.raises(ServiceUnavailable, match=r"no telemetry of GPU gpu-1: no provider reports"):
            await gpus.telemetry("gpu-1")
        [one] = await gpus.list_telemetry()
        assert (one.name, one.unavailable) == ("gpu-1", "no provider reports telemetry of this GPU")


async def test_readers_are_put_off_until_the_gpus_are_known(tmp_path: Path) -> None:
    options = server_options(tmp_path, gate_seconds=60)
    async with DeviceServer(options) as server:
        transport = DeviceTransport(GRPCChannel(server.target), retries=Retries(tries=0))
        telemetry = TelemetryClient(transport)
        for call in (lambda: telemetry.get("gpu-1"), telemetry.list):
            with pytest.raises(ServiceUnavailable, match="server is not ready"):
                await call()
        await transport.close()


async def test_who_may_only_read_may_not_report(tmp_path: Path) -> None:
    target = Target(host="127.0.0.1", port=free_ports(1)[0])
    options = server_options(
        tmp_path, targets=(target,), plaintext=True, providers=[FAKE], access=Access(remote=RemoteRole.READ)
    )
    async with DeviceServer(options), device.connect(target, plaintext=True, provider_id="x") as devices:
        gpus = devices.v1alpha1.gpus
        assert (await gpus.telemetry("gpu-1")).provider == "fake"
        with pytest.raises(Forbidden, match="may not call ReportTelemetry"):
            await gpus.report_telemetry([Telemetry("gpu-1", temperature_celsius=99)])


async def test_a_provider_is_known_by_its_id_and_reports_many_gpus_in_several_calls(tmp_path: Path) -> None:
    async with DeviceServer(server_options(tmp_path)) as server:
        async with device.connect(server.target, provider_id="dcgm") as devices:
            many = [Telemetry(f"gpu-{number:03}", temperature_celsius=number) for number in range(600)]
            await devices.v1alpha1.gpus.report_telemetry(many)
        found = await server.registry.telemetry.read(["gpu-000", "gpu-599"])
        assert [(one.provider, one.temperature_celsius) for one in found] == [("dcgm", 0), ("dcgm", 599)]
