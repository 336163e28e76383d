from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from pilotage.device.providers.actions import Vocabulary
from pilotage.device.providers.inventory import PROVIDER_LABEL
from pilotage.device.providers.nvml.library import Answer, DeviceEvent, EventType, NVMLError, Return
from pilotage.device.providers.nvml.options import NVMLOptions
from pilotage.device.providers.nvml.provider import NVMLProvider
from pilotage.device.providers.nvml.worker import Inline
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.errors import MissingExtra
from pilotage.meta.models import Condition, ObjectMeta
from pilotage.telemetry.metrics import REGISTRY

from ..fakes import BEGINNING, HEALTHY, MockLibrary, device_api, name_of, uuid_of, virtual_clock

GOOD = {
    "Ready": "True DriverReady",
    "Degraded": "False NotDegraded",
    "ResetRequired": "False ResetNotRequired",
    "HardwareFailure": "False NoFailure",
}
UNKNOWN = dict.fromkeys(GOOD, "Unknown StatusUnknown")


def provider(
    library: MockLibrary, *, booted: Callable[[], datetime] = lambda: BEGINNING, **options: object
) -> NVMLProvider:
    settings = NVMLOptions(**options)  # type: ignore[arg-type]  # each its own type
    return NVMLProvider(settings, worker=lambda: Inline(library), clock=virtual_clock, booted=booted)


def metric(name: str, *labels: str) -> float | None:
    """The value of a metric of the first sample with these label values."""
    for definition, samples in REGISTRY.collect():
        if definition.name == f"device_api_server_{name}":
            for sample in samples:
                if set(labels) <= {value for _, value in sample.labels}:
                    return sample.value
    return None


@pytest.mark.covers("D12")
@pytest.mark.virtual_time
async def test_gpus_are_registered_under_their_uuid_in_lower_case() -> None:
    async with device_api() as api, api.running(provider(MockLibrary(2))):
        await asyncio.sleep(1)
        gpus = await api.gpus()
        assert [gpu.metadata.name for gpu in gpus] == [name_of(0), name_of(1)]
        assert [gpu.spec.uuid for gpu in gpus] == [uuid_of(0), uuid_of(1)]
        assert [gpu.metadata.labels for gpu in gpus] == [{PROVIDER_LABEL: "nvml"}] * 2
        assert await api.states(0) == await api.states(1) == GOOD
        assert api.registry.gate.is_open


@pytest.mark.virtual_time
async def test_gpu_whose_health_does_not_change_is_not_written_again() -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(1)
        before = await api.gpu()
        for temperature in range(31, 80):
            library.gpus[0] |= {"temperature": temperature, "power": temperature * 9000}
            await asyncio.sleep(10)
        assert (await api.gpu()).metadata.resource_version == before.metadata.resource_version
        assert metric("gpu_temperature_celsius", uuid_of(0)) == 79
        assert metric("gpu_power_usage_watts", uuid_of(0)) == 711


@pytest.mark.virtual_time
async def test_live_values_are_metrics_with_the_gpus_labels() -> None:
    async with device_api() as api, api.running(provider(MockLibrary())):
        await asyncio.sleep(1)
        assert metric("gpu_memory_total_bytes", name_of(0)) == 150_754_820_096
        assert metric("gpu_clock_hertz", name_of(0), "sm") == 345e6
        assert metric("gpu_ecc_errors", name_of(0), "corrected", "aggregate") == 3
        assert metric("gpu_nvlinks_up", name_of(0)) == 18
        assert metric("gpu_retired_pages", name_of(0)) is None
        assert (metric("nvml_provider_enabled"), metric("nvml_gpu_count"), metric("nvml_health_monitor_running")) == (
            1,
            1,
            1,
        )
    assert metric("gpu_temperature_celsius", uuid_of(0)) is None
    assert (metric("nvml_provider_enabled"), metric("nvml_gpu_count")) == (0, 0)


@pytest.mark.covers("D12")
@pytest.mark.virtual_time
async def test_xid_becomes_a_condition_at_once_and_is_cleared_when_the_gpu_was_reset() -> None:
    library = MockLibrary(2)
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(2)
        library.gpus[0]["recovery_action"] = 1
        library.xid(95)
        await asyncio.sleep(1.1)
        assert (await api.states())["ResetRequired"] == "True UncontainedMemoryError"
        assert (await api.states())["Ready"] == "False UncontainedMemoryError"
        assert (await api.gpu()).status.recommended_action == "COMPONENT_RESET"
        assert await api.states(1) == GOOD
        await asyncio.sleep(600)
        assert (await api.states())["ResetRequired"].startswith("True")
        library.gpus[0]["recovery_action"] = 0
        await asyncio.sleep(11)
        assert await api.states() == GOOD
        assert (await api.gpu()).status.recommended_action is None
        assert metric("gpu_xid_errors_total", uuid_of(0), "95") == 1


@pytest.mark.virtual_time
async def test_recovery_action_of_the_driver_is_read_after_its_event() -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(provider(library, poll_seconds=60)):
        await asyncio.sleep(5)
        library.gpus[0]["recovery_action"] = 2
        library.xid(154)
        await asyncio.sleep(2.2)
        assert (await api.states())["ResetRequired"] == "True DriverRecoveryAction"
        assert (await api.gpu()).status.recommended_action == "RESTART_BM"


@pytest.mark.virtual_time
async def test_data_of_an_ecc_event_is_never_read_as_an_xid() -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(2)
        library.events.append(DeviceEvent(0, EventType.DOUBLE_BIT_ECC, 79))
        library.events.append(DeviceEvent(0, 0x1, 48))
        await asyncio.sleep(5)
        assert await api.states() == GOOD


@pytest.mark.virtual_time
@pytest.mark.parametrize("xid", [13, 31, 43, 45])
async def test_xid_of_an_application_is_counted_and_is_no_condition(xid: int) -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(provider(library)):
        library.xid(xid)
        await asyncio.sleep(5)
        assert await api.states() == GOOD
        assert metric("gpu_xid_errors_total", uuid_of(0), str(xid)) is not None


@pytest.mark.covers("D12")
@pytest.mark.virtual_time
async def test_ignored_xid_is_no_condition() -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(provider(library, ignored_xids=frozenset({119}))):
        library.xid(119)
        await asyncio.sleep(5)
        assert await api.states() == GOOD


@pytest.mark.virtual_time
async def test_many_events_do_not_make_many_polls() -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(2)
        library.calls.clear()
        for _ in range(300):
            library.xid(31)
        await asyncio.sleep(4)
        assert library.calls.count("wait") > 300
        assert library.calls.count("temperature") <= 5


@pytest.mark.virtual_time
async def test_storm_of_xids_is_counted_and_not_written_or_logged_for_each(caplog: pytest.LogCaptureFixture) -> None:
    library = MockLibrary()
    library.gpus[0]["recovery_action"] = NVMLError(Return.NOT_SUPPORTED, "Not Supported")
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(2)
        counted = metric("gpu_xid_errors_total", uuid_of(0), "74") or 0
        version = api.registry.context.storage.revision  # with the note of who sends heartbeats
        caplog.clear()
        for _ in range(500):
            library.xid(74)
        await asyncio.sleep(4)
        assert metric("gpu_xid_errors_total", uuid_of(0), "74") == counted + 500
        assert (await api.states())["ResetRequired"] == "True NVLinkError"
        writes = int((await api.gpu()).metadata.resource_version) - version
        assert 1 <= writes <= 2  # the first XID may be reported before the others have come
        assert 1 <= sum(record.getMessage().startswith("XID") for record in caplog.records) <= 5


@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("call", "bad", "states"),
    [
        ("remapped_rows", {"pending": 0, "failure": 1}, {"HardwareFailure": "True RowRemappingThresholdExceeded"}),
        ("sram", {"thresholdExceeded": 1}, {"HardwareFailure": "True SRAMUncorrectableErrorThresholdExceeded"}),
        ("clock_reasons", 0x40, {"Degraded": "True ThermalSlowdown"}),
        ("margin", -9, {"Degraded": "True ThermalSlowdown"}),
        ("recovery_action", 2, {"ResetRequired": "True DriverRecoveryAction"}),
    ],
)
async def test_call_that_fails_for_a_while_is_no_sign_of_recovery(
    call: str, bad: Answer, states: dict[str, str]
) -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(provider(library)):
        library.gpus[0][call] = bad
        await asyncio.sleep(25)
        assert (await api.states()).items() >= states.items()
        library.gpus[0][call] = NVMLError(Return.UNKNOWN, "Unknown Error")
        await asyncio.sleep(50)
        assert (await api.states()).items() >= states.items()
        library.gpus[0][call] = HEALTHY[call]
        await asyncio.sleep(25)
        assert await api.states() == GOOD


@pytest.mark.virtual_time
async def test_verdict_that_cannot_be_had_for_a_moment_does_not_make_an_old_error_ask_for_a_reset() -> None:
    library = MockLibrary()
    library.gpus[0]["ecc_uncorrected_volatile"] = 1  # the driver reports it as contained: no action is recommended
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(5)
        library.gpus[0]["recovery_action"] = NVMLError(Return.UNKNOWN, "Unknown Error")
        await asyncio.sleep(30)
        assert await api.states() == GOOD


@pytest.mark.covers("D12")
@pytest.mark.virtual_time
async def test_lost_gpu_is_marked_alone_and_is_well_when_it_is_back() -> None:
    library = MockLibrary(3)
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(2)
        others = [await api.gpu(0), await api.gpu(2)]
        library.lose(1)
        await asyncio.sleep(11)
        assert (await api.states(1))["HardwareFailure"] == "True GPUFallenOffBus"
        assert (await api.states(1))["Ready"] == "False GPUFallenOffBus"
        assert (await api.gpu(1)).status.recommended_action == "RESTART_BM"
        assert metric("gpu_temperature_celsius", uuid_of(1)) is None
        await asyncio.sleep(600)  # the library was opened again meanwhile
        assert library.calls.count("open") > 5
        assert (await api.states(1))["HardwareFailure"] == "True GPUFallenOffBus"
        assert [await api.gpu(0), await api.gpu(2)] == others
        library.find_again(1)
        await asyncio.sleep(70)
        assert await api.states(1) == GOOD


@pytest.mark.virtual_time
async def test_gpu_in_the_place_of_another_takes_its_place_in_the_api_too() -> None:
    library = MockLibrary(2)
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(2)
        library.lose(1)
        await asyncio.sleep(20)
        library.find_again(1)
        library.gpus[1]["uuid"] = uuid_of(9)
        await asyncio.sleep(70)
        assert [gpu.metadata.name for gpu in await api.gpus()] == [name_of(0), name_of(9)]
        assert await api.states(9) == GOOD


@pytest.mark.virtual_time
async def test_driver_reload_makes_all_unknown_and_what_was_before_is_forgotten() -> None:
    library = MockLibrary(2)
    for gpu in library.gpus:
        gpu["recovery_action"] = NVMLError(Return.NOT_SUPPORTED, "Not Supported")
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(2)
        library.xid(119)
        await asyncio.sleep(60)
        assert (await api.states())["ResetRequired"] == "True GSPUnresponsive"
        library.gone = library.open_error = NVMLError(Return.DRIVER_NOT_LOADED, "Driver Not Loaded")
        await asyncio.sleep(11)
        assert await api.states(0) == await api.states(1) == UNKNOWN
        assert "not loaded" in (await api.gpu()).status.conditions[0].message
        await asyncio.sleep(600)
        assert await api.states(0) == UNKNOWN  # and still ours: heartbeats go on
        library.gone = library.open_error = None
        await asyncio.sleep(70)
        assert await api.states(0) == await api.states(1) == GOOD


@pytest.mark.virtual_time
async def test_library_is_opened_again_ever_more_seldom() -> None:
    library = MockLibrary()
    library.open_error = NVMLError(Return.DRIVER_NOT_LOADED, "Driver Not Loaded")
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(3600)
        assert 55 < library.calls.count("open") < 70


@pytest.mark.covers("D12")
@pytest.mark.virtual_time
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (NVMLError(Return.LIBRARY_NOT_FOUND, "NVML Shared Library Not Found"), "no NVIDIA driver is installed here"),
        (NVMLError(Return.DRIVER_NOT_LOADED, "Driver Not Loaded"), "the NVIDIA driver is not loaded"),
        (NVMLError(Return.NO_PERMISSION, "Insufficient Permissions"), "give it access to /dev/nvidiactl"),
        (NVMLError(Return.LIB_RM_VERSION_MISMATCH, "mismatch"), "restart this process"),
        (NVMLError(Return.UNKNOWN, "Unknown Error"), "Unknown Error"),
        (MissingExtra("reading NVIDIA GPUs", "nvml"), "pip install 'pilotage[nvml]'"),
    ],
)
async def test_machine_without_gpus_has_one_clear_line_and_an_empty_list(
    error: Exception, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    library = MockLibrary()
    library.open_error = error
    with caplog.at_level(logging.INFO, "pilotage.device.nvml"):
        async with device_api() as api, api.running(provider(library)):
            await asyncio.sleep(600)
            assert await api.gpus() == []
            assert api.registry.gate.is_open
    [line] = [record.getMessage() for record in caplog.records]
    assert text in line


@pytest.mark.covers("D12")
@pytest.mark.virtual_time
async def test_driver_without_gpus_is_an_empty_list_and_one_that_appears_later_is_written(
    caplog: pytest.LogCaptureFixture,
) -> None:
    library = MockLibrary(0)
    with caplog.at_level(logging.INFO, "pilotage.device.nvml"):
        async with device_api() as api, api.running(provider(library)):
            await asyncio.sleep(600)
            assert await api.gpus() == []
            assert api.registry.gate.is_open
            assert [record.getMessage() for record in caplog.records] == [
                "Opened the NVIDIA driver version=570.1 gpus=0"
            ]
            library.gpus = MockLibrary(1).gpus
            await asyncio.sleep(70)
            assert await api.states() == GOOD


@pytest.mark.covers("D12")
@pytest.mark.virtual_time
async def test_gpu_without_a_readable_uuid_does_not_keep_the_others_from_being_written() -> None:
    library = MockLibrary(3)
    library.gpus[1]["uuid"] = NVMLError(Return.UNKNOWN, "Unknown Error")
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(2)
        assert [gpu.metadata.name for gpu in await api.gpus()] == [name_of(0), name_of(2)]


@pytest.mark.virtual_time
async def test_gpu_that_answers_nothing_is_unknown_and_the_others_are_not() -> None:
    library = MockLibrary(2)
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(2)
        library.gpus[0]["*"] = NVMLError(Return.UNKNOWN, "Unknown Error")
        await asyncio.sleep(11)
        assert await api.states(0) == UNKNOWN
        assert await api.states(1) == GOOD
        del library.gpus[0]["*"]
        await asyncio.sleep(11)
        assert await api.states(0) == GOOD


@pytest.mark.virtual_time
async def test_start_deletes_own_gpus_that_are_gone_and_no_others() -> None:
    async with device_api() as api:
        async with api.running(provider(MockLibrary(3))):
            await asyncio.sleep(1)
        foreign = GPU(metadata=ObjectMeta(name="foreign"), spec=GPUSpec(uuid="GPU-foreign"))
        await api.client.create(foreign)
        async with api.running(provider(MockLibrary(1))):
            await asyncio.sleep(1)
            assert [gpu.metadata.name for gpu in await api.gpus()] == ["foreign", name_of(0)]


@pytest.mark.virtual_time
async def test_own_gpu_may_be_the_one_that_does_not_say_who_it_is() -> None:
    async with device_api() as api:
        async with api.running(provider(MockLibrary(2))):
            await asyncio.sleep(1)
        library = MockLibrary(2)
        library.gpus[1]["uuid"] = NVMLError(Return.GPU_IS_LOST, "GPU is lost")
        async with api.running(provider(library)):
            await asyncio.sleep(1)
            assert (await api.states(1))["HardwareFailure"] == "True GPUFallenOffBus"
            assert await api.states(0) == GOOD


@pytest.mark.virtual_time
async def test_gpu_of_another_provider_is_adopted_with_its_other_conditions() -> None:
    async with device_api() as api:
        gpu = GPU(metadata=ObjectMeta(name=name_of(0)), spec=GPUSpec(uuid=uuid_of(0)))
        gpu.status.conditions = [Condition(type="DCGMHealth", status="True", reason="Fine")]
        await api.client.create(gpu)
        async with api.running(provider(MockLibrary())):
            await asyncio.sleep(1)
            assert await api.states() == {"DCGMHealth": "True Fine", **GOOD}
        async with api.running(provider(MockLibrary(0))):
            await asyncio.sleep(1)
            assert len(await api.gpus()) == 1  # it is not ours to delete


@pytest.mark.virtual_time
async def test_restarted_provider_remembers_the_xids_of_the_run_before_unless_the_machine_was_booted() -> None:
    library = MockLibrary()
    library.gpus[0]["recovery_action"] = NVMLError(Return.NOT_SUPPORTED, "Not Supported")
    async with device_api() as api:
        async with api.running(provider(library)):
            library.xid(48)
            await asyncio.sleep(5)
        async with api.running(provider(library)):
            await asyncio.sleep(30)
            assert (await api.states())["ResetRequired"] == "True DoubleBitECCError"
            assert (await api.gpu()).status.recommended_action == "COMPONENT_RESET"
        async with api.running(provider(library, booted=lambda: BEGINNING + timedelta(hours=1))):
            await asyncio.sleep(5)
            assert await api.states() == GOOD


@pytest.mark.virtual_time
async def test_conditions_of_a_provider_that_was_away_are_written_again() -> None:
    async with device_api() as api:
        async with api.running(provider(MockLibrary())):
            await asyncio.sleep(1)
        await asyncio.sleep(60)
        assert {state.split()[0] for state in (await api.states()).values()} == {"Unknown"}
        async with api.running(provider(MockLibrary())):
            await asyncio.sleep(1)
            assert await api.states() == GOOD


@pytest.mark.virtual_time
async def test_gpu_that_another_client_deletes_or_changes_is_written_again() -> None:
    async with device_api() as api, api.running(provider(MockLibrary())):
        await asyncio.sleep(1)
        await api.client.delete(GPU, name_of(0))
        await asyncio.sleep(11)
        assert await api.states() == GOOD


@pytest.mark.virtual_time
async def test_wait_that_fails_is_not_repeated_without_a_pause_and_polls_go_on() -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(2)
        library.wait_error = NVMLError(Return.UNKNOWN, "Unknown Error")
        library.calls.clear()
        await asyncio.sleep(600)
        assert library.calls.count("wait") < 20
        assert library.calls.count("temperature") >= 60
        library.wait_error = None
        library.xid(48)
        await asyncio.sleep(70)
        assert metric("gpu_xid_errors_total", uuid_of(0), "48") is not None


@pytest.mark.virtual_time
async def test_lost_gpu_that_makes_the_wait_fail_is_found_by_the_poll() -> None:
    library = MockLibrary(2)
    async with device_api() as api, api.running(provider(library, poll_seconds=60)):
        await asyncio.sleep(5)
        library.lose(0)
        library.wait_error = NVMLError(Return.GPU_IS_LOST, "GPU is lost")
        await asyncio.sleep(3)
        assert (await api.states(0))["HardwareFailure"] == "True GPUFallenOffBus"
        assert await api.states(1) == GOOD


@pytest.mark.virtual_time
async def test_gpu_without_events_is_polled_all_the_same() -> None:
    library = MockLibrary(telling=0)
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(1)
        library.gpus[0]["margin"] = -10
        await asyncio.sleep(11)
        assert "wait" not in library.calls
        assert (await api.states())["Degraded"] == "True ThermalSlowdown"
        assert metric("nvml_health_monitor_running") == 0


@pytest.mark.virtual_time
async def test_what_a_gpu_cannot_report_is_read_once() -> None:
    library = MockLibrary()
    async with device_api() as api, api.running(provider(library)):
        await asyncio.sleep(100)
        assert library.calls.count("retired_pages") == 1
        assert library.calls.count("temperature") > 5


@pytest.mark.covers("D12")
@pytest.mark.virtual_time
async def test_stop_closes_the_library_and_a_second_run_opens_it_again() -> None:
    library = MockLibrary()
    tells = provider(library)
    async with device_api() as api:
        for _ in range(2):
            async with api.running(tells):
                await asyncio.sleep(1)
                assert library.is_open
            assert not library.is_open


@pytest.mark.covers("D12")
@pytest.mark.virtual_time
async def test_two_runs_at_once_report_the_same() -> None:
    async with device_api() as api, api.running(provider(MockLibrary())), api.running(provider(MockLibrary())):
        await asyncio.sleep(30)
        assert await api.states() == GOOD


@pytest.mark.virtual_time
async def test_actions_can_be_spelled_as_in_the_draft() -> None:
    library = MockLibrary()
    library.gpus[0]["recovery_action"] = 1
    async with device_api() as api, api.running(provider(library, vocabulary=Vocabulary.DRAFT)):
        await asyncio.sleep(1)
        assert (await api.gpu()).status.recommended_action == "ResetGPU"
