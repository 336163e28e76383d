"""On real threads: a call that blocks never blocks the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence

import pytest

from pilotage.device.providers.nvml.library import Answer, DeviceEvent, Library, NVMLError, Return
from pilotage.device.providers.nvml.options import NVMLOptions
from pilotage.device.providers.nvml.provider import NVMLProvider
from pilotage.device.providers.nvml.worker import DriverHangs, WorkerThread
from pilotage.device.v1alpha1 import GPU
from pilotage.meta.scalars import times

from ..fakes import MockLibrary, device_api, name_of


class HangingLibrary(MockLibrary):
    """Calls hang while `hangs` is set."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = threading.Event()
        self.answers.set()

    def ask(self, call: str, device: int = -1) -> Answer:
        self.answers.wait(60)
        return super().ask(call, device)


@pytest.fixture
def library() -> Iterator[HangingLibrary]:
    library = HangingLibrary()
    yield library
    library.answers.set()  # lets the thread end


def threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name == "pilotage-nvml"}


async def test_calls_run_in_a_thread_of_their_own_and_errors_come_back(library: HangingLibrary) -> None:
    worker = WorkerThread(library)
    names: set[str] = set()

    def failing(library: Library) -> None:
        names.add(threading.current_thread().name)
        raise NVMLError(Return.UNKNOWN, "Unknown Error")

    assert await worker.run(lambda library: library.ask("count"), timeout=60) == 1
    with pytest.raises(NVMLError):
        await worker.run(failing, timeout=60)
    assert names == {"pilotage-nvml"}
    await worker.close()
    assert library.calls[-1] == "close"


async def test_driver_that_hangs_is_reported_and_the_next_call_waits_for_it(library: HangingLibrary) -> None:
    worker = WorkerThread(library)
    library.answers.clear()
    for _ in range(2):
        with pytest.raises(DriverHangs, match="has not responded"):
            await worker.run(lambda library: library.ask("count"), timeout=0.01)
    assert library.calls == []
    library.answers.set()
    assert await worker.run(lambda library: library.ask("count"), timeout=60) == 1
    assert library.calls == ["count", "count"]  # the second of those given up on was never sent
    await worker.close()


async def test_events_come_through_the_worker(library: HangingLibrary) -> None:
    worker = WorkerThread(library)
    library.xid(79)
    assert await worker.wait(0) == DeviceEvent(0, 8, 79)
    assert await worker.wait(0) is None
    await worker.close()


async def test_cancelled_caller_leaves_a_worker_that_can_be_closed(library: HangingLibrary) -> None:
    worker = WorkerThread(library)
    library.answers.clear()
    task = asyncio.create_task(worker.run(lambda library: library.ask("count"), timeout=60))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    library.answers.set()
    await worker.close()
    assert library.calls[-1] == "close"


async def test_provider_makes_gpus_unknown_while_the_driver_hangs_and_goes_on_after_it(library: HangingLibrary) -> None:
    options = NVMLOptions(poll_seconds=0.05, call_seconds=0.1, retry_seconds=0.05)
    provider = NVMLProvider(options, worker=lambda: WorkerThread(library))

    def ready(gpus: Sequence[GPU]) -> str:
        return gpus[0].status.conditions[0].status

    async with device_api(times.system_clock) as api, api.running(provider):
        await api.becomes(lambda gpus: len(gpus) == 1, seconds=60)
        library.answers.clear()
        await api.becomes(lambda gpus: ready(gpus) == "Unknown", seconds=60)
        assert "has not responded" in (await api.gpu()).status.conditions[0].message
        library.answers.set()
        await api.becomes(lambda gpus: ready(gpus) == "True", seconds=60)
        assert (await api.gpu()).metadata.name == name_of(0)


async def test_thread_ends_when_the_worker_is_closed(library: HangingLibrary) -> None:
    before = threads()
    worker = WorkerThread(library)
    await worker.run(lambda library: None, timeout=60)
    [thread] = threads() - before
    await worker.close()
    await worker.close()
    await asyncio.to_thread(thread.join, 5)
    assert not thread.is_alive()
