from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import permutations

import pytest

from pilotage.controller.reconcilers.reconciler import reconcile_function, wait
from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.storage import Put, open_storage
from pilotage.testing import loop as virtual
from pilotage.testing.storage import CHECKS, ConformanceCheck


async def _order(letters: str, steps: int = 1) -> str:
    ran: list[str] = []

    async def work(letter: str) -> None:
        for _ in range(steps):
            await asyncio.sleep(0)
            ran.append(letter)

    await asyncio.gather(*(work(letter) for letter in letters))
    return "".join(ran)


def test_hours_pass_in_no_time() -> None:
    async def wait() -> float:
        await asyncio.sleep(3600)
        return asyncio.get_running_loop().time()

    assert virtual.run(wait()) == 3600  # a test may take two minutes


@pytest.mark.parametrize(
    "io",
    [
        lambda: asyncio.open_connection("127.0.0.1", 1),
        lambda: asyncio.open_unix_connection("a.sock"),
        lambda: asyncio.start_server(lambda *_: None, "127.0.0.1", 0),
        lambda: asyncio.create_subprocess_exec("true"),
    ],
)
def test_sockets_and_processes_are_refused_with_what_to_do(io: Callable[[], Awaitable[object]]) -> None:
    async def start() -> None:
        await io()

    with pytest.raises(RuntimeError, match=r"virtual time is for code without sockets.* use a real loop for this test"):
        virtual.run(start())


def test_years_pass_too() -> None:
    async def wait() -> float:
        for _ in range(10):
            await asyncio.sleep(365 * 86400 + 0.1)
        return asyncio.get_running_loop().time()

    assert virtual.run(wait()) == pytest.approx(10 * (365 * 86400 + 0.1))


def test_timers_run_in_the_order_of_their_times() -> None:
    async def main() -> list[tuple[str, float]]:
        running = asyncio.get_running_loop()
        ran: list[tuple[str, float]] = []

        def note(name: str) -> None:
            ran.append((name, running.time()))

        for name, delay in (("c", 2.5), ("a", 0.1), ("b", 2.0)):
            running.call_later(delay, note, name)
        await asyncio.sleep(10)
        return ran

    assert virtual.run(main()) == [("a", 0.1), ("b", 2.0), ("c", 2.5)]


def test_timeout_strikes_at_its_virtual_time() -> None:
    async def main() -> float:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.sleep(10)
        return asyncio.get_running_loop().time()

    assert virtual.run(main()) == 5


def test_same_seed_gives_the_same_order() -> None:
    orders = {seed: virtual.run(_order("abcde", 3), seed=seed) for seed in range(10)}
    assert {seed: virtual.run(_order("abcde", 3), seed=seed) for seed in range(10)} == orders
    assert len(set(orders.values())) > 5


def test_same_seed_gives_the_same_order_of_cancelled_tasks() -> None:
    """A task group cancels its tasks in the order of a set, which depends on where they lie in memory."""

    async def main(count: int) -> tuple[int, ...]:
        ended: list[int] = []

        async def wait(number: int) -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(number)

        ballast = [object() for _ in range(count)]
        with contextlib.suppress(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                for number in range(12):
                    group.create_task(wait(number))
                    ballast.append([number] * count)
                await asyncio.sleep(1)
                raise KeyError
        return tuple(ended)

    for seed in range(5):
        assert len({virtual.run(main(count), seed=seed) for count in range(10)}) == 1


def test_every_order_is_reachable() -> None:
    found = {virtual.run(_order("abc"), seed=seed) for seed in range(100)}
    assert found == {"".join(letters) for letters in permutations("abc")}


def test_plain_callbacks_keep_their_order() -> None:
    async def main() -> list[int]:
        ran: list[int] = []
        for number in range(20):
            asyncio.get_running_loop().call_soon(ran.append, number)
        await _order("abcdef", 20)
        return ran

    for seed in range(10):
        assert virtual.run(main(), seed=seed) == list(range(20))


@pytest.mark.virtual_time
async def test_a_timer_never_runs_early_so_that_the_rest_of_a_wait_can_be_waited_for() -> None:
    loop, turns = asyncio.get_running_loop(), 0
    await asyncio.sleep(1.0)
    end = 1.0 + 1e-12
    while loop.time() < end:
        turns += 1
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), end - loop.time())
        assert turns == 1
    assert loop.time() == end


def test_wall_clock_goes_with_the_loop() -> None:
    async def main() -> timedelta:
        running = asyncio.get_running_loop()
        assert isinstance(running, virtual.VirtualLoop)
        begun = running.now()
        await asyncio.sleep(90)
        return running.now() - begun

    assert virtual.run(main()) == timedelta(seconds=90)


def test_deadlock_names_the_tasks_that_wait() -> None:
    async def stuck_for_ever() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        await asyncio.sleep(3)
        async with asyncio.TaskGroup() as group:
            group.create_task(stuck_for_ever(), name="the stuck one")

    with pytest.raises(
        virtual.Deadlock, match=r"at 3 s .*\n.*(?s:.)*the stuck one: .*stuck_for_ever at .*test_loop.py"
    ):
        virtual.run(main())


def test_no_time_passes_while_a_function_runs_in_a_thread() -> None:
    async def main() -> tuple[bool, float]:
        loop = asyncio.get_running_loop()
        asyncio.get_running_loop().call_later(0.001, print)  # a timer that must not be due meanwhile
        return await asyncio.to_thread(in_thread), loop.time()

    def in_thread() -> bool:
        time.sleep(0.01)
        return threading.current_thread() is threading.main_thread()

    assert virtual.run(main()) == (False, 0.0)


def test_what_a_thread_waits_for_may_take_any_time() -> None:
    def reconcile(request: Request) -> Result:
        wait(asyncio.sleep(3600))
        return Result(requeue_after=wait(_time()))

    async def _time() -> float:
        return asyncio.get_running_loop().time()

    async def main() -> Result | None:
        return await reconcile_function(reconcile)(Request("one"))

    assert virtual.run(main()) == Result(requeue_after=3600)


def test_call_from_another_thread_is_refused() -> None:
    async def main() -> list[str]:
        running, said = asyncio.get_running_loop(), list[str]()

        def elsewhere() -> None:
            try:
                running.call_soon_threadsafe(print)
            except RuntimeError as error:
                said.append(str(error))

        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        return said

    (complaint,) = virtual.run(main())
    assert "a thread called into the loop" in complaint


@pytest.mark.virtual_time(seed=3)
async def test_marker_gives_a_virtual_loop() -> None:
    running = asyncio.get_running_loop()
    assert isinstance(running, virtual.VirtualLoop)
    assert running.seed == 3
    await asyncio.sleep(1e6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_memory_storage_conforms_in_any_order(check: ConformanceCheck, seed: int) -> None:
    import contextlib

    from pilotage.storage.memory import MemoryStorage

    async def main() -> None:
        await check(lambda: contextlib.nullcontext(MemoryStorage()))

    virtual.run(main(), seed=seed)


@pytest.mark.virtual_time
async def test_watch_with_a_timeout_costs_no_time() -> None:
    storage = await open_storage("memory:")
    watch = storage.watch("", since=storage.revision)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(3600):
            await anext(watch)
    await storage.commit(Put("a", b""))
    assert [event.key for event in await anext(watch)] == ["a"]
