"""Reconcilers in their several forms; those that are not async run in threads, so time is real here."""

from __future__ import annotations

import asyncio
import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Never, cast

import pytest

from pilotage.client.reader import Reader
from pilotage.controller import Abandoned, Controller, ControllerOptions, Request, Result, as_reconciler, wait
from pilotage.controller.reconcilers.reconciler import reconcile_function
from pilotage.errors import InvalidDefinition
from pilotage.telemetry.logs import log_context, logged_fields

from ..fakes import Feed, Widget, metric, running, widget

WITHIN = 100.0


async def double(number: int) -> int:
    await asyncio.sleep(0)
    return 2 * number


class Async:
    async def reconcile(self, request: Request) -> Result:
        return Result(requeue_after=1)


class Sync:
    def reconcile(self, request: Request) -> Result:
        return Result(requeue_after=wait(double(4)))


class Called:
    async def __call__(self, request: Request) -> Result:
        return Result(requeue_after=2)


async def function(request: Request, seconds: float = 3) -> Result:
    return Result(requeue_after=seconds)


@pytest.mark.parametrize(
    ("reconciler", "seconds"),
    [
        (Async(), 1),
        (Sync(), 8),
        (Called(), 2),
        (function, 3),
        (functools.partial(function, seconds=4), 4),
        (lambda request: Result(requeue_after=5), 5),
        (lambda request: function(request), 3),
    ],
)
async def test_reconcilers_come_in_many_forms(reconciler: Any, seconds: float) -> None:
    result = await reconcile_function(reconciler)(Request("a"))
    assert result == Result(requeue_after=seconds)


async def test_a_reconciler_that_is_not_async_blocks_no_other() -> None:
    release = threading.Event()
    threads: list[str] = []

    def reconcile(request: Request) -> None:
        threads.append(threading.current_thread().name)
        assert release.wait(WITHIN)

    running_one = asyncio.ensure_future(reconcile_function(reconcile)(Request("a", "b")))
    await asyncio.sleep(0)
    assert not running_one.done()
    release.set()
    assert await running_one is None
    assert threads == ["reconcile b/a"]


async def test_what_a_thread_raises_is_raised() -> None:
    def fails(error: BaseException) -> Any:
        def reconcile(request: Request) -> None:
            raise error

        return reconcile

    for error in (KeyError("x"), SystemExit(3), asyncio.CancelledError()):
        with pytest.raises(type(error)):
            await reconcile_function(fails(error))(Request("a"))
    with pytest.raises(RuntimeError, match="StopIteration"):
        await reconcile_function(fails(StopIteration()))(Request("a"))


async def test_what_the_coroutine_raises_is_raised_in_the_thread() -> None:
    async def fails(error: BaseException) -> None:
        raise error

    def reconcile(request: Request) -> Result:
        for error in (KeyError("x"), RuntimeError("own"), asyncio.CancelledError()):
            with pytest.raises(type(error)):
                wait(fails(error))
        return Result(requeue=True)

    assert await reconcile_function(reconcile)(Request("a")) == Result(requeue=True)


async def test_the_log_s_context_goes_with_the_thread_and_back_to_the_loop() -> None:
    seen: list[object] = []

    async def look() -> None:
        seen.append(logged_fields()["name"])

    def reconcile(request: Request) -> None:
        seen.append(logged_fields()["name"])
        wait(look())

    with log_context(name="x"):
        await reconcile_function(reconcile)(Request("a"))
    assert seen == ["x", "x"]


async def test_wait_is_refused_where_there_is_no_thread_of_a_reconciler() -> None:
    with pytest.raises(InvalidDefinition, match="use await"):
        wait(double(1))


@pytest.mark.parametrize(
    "use", [lambda made: made.spec, lambda made: made["spec"], lambda made: list(made), lambda made: made + 1]
)
async def test_a_coroutine_that_is_used_without_wait_is_an_error_that_names_it(use: Callable[[Any], object]) -> None:
    coroutines: list[Any] = []

    def reconcile(request: Request) -> Result:
        coroutines.append(double(1))
        return Result(requeue_after=cast(Any, use(coroutines[0])))

    with pytest.raises(InvalidDefinition, match=r"a reconciler that is not async calls coroutines through pt\.wait"):
        await reconcile_function(reconcile)(Request("a"))
    coroutines[0].close()


async def test_the_error_of_a_forgotten_wait_names_the_call() -> None:
    with pytest.raises(InvalidDefinition, match="the reconciler used the coroutine of double as if it were its result"):
        await reconcile_function(lambda request: double(1).real)(Request("a"))  # type: ignore[attr-defined]


@contextmanager
def shown_warnings() -> Iterator[list[str]]:
    """The warnings that a program without filters of its own prints."""
    shown: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, category, filename, *_: shown.append(f"{filename}: {message}")
        yield shown


def calls_and_drops(request: Request) -> None:
    double(1)  # type: ignore[unused-coroutine]  # the mistake


def calls_and_keeps(request: Request) -> None:
    _kept = double(1)


@pytest.mark.parametrize("reconcile", [calls_and_drops, calls_and_keeps])
async def test_pythons_warning_about_a_call_that_was_never_awaited_names_wait(
    reconcile: Callable[[Request], None],
) -> None:
    with shown_warnings() as shown:
        for _ in range(2):
            await reconcile_function(reconcile)(Request("a"))
    assert len(shown) == 2
    for line in shown:
        assert "coroutine 'double' was never awaited, so nothing was done" in line
        assert "a reconciler that is not async calls coroutines through pt.wait" in line
    assert calls_and_keeps is reconcile or shown[0].startswith(__file__)


async def test_other_warnings_and_those_of_other_threads_are_not_changed() -> None:
    def reconcile(request: Request) -> None:
        warnings.warn("rusty", UserWarning, stacklevel=1)

    with shown_warnings() as shown:
        await reconcile_function(reconcile)(Request("a"))
        double(1)  # type: ignore[unused-coroutine]  # the mistake
    assert [line.partition(": ")[2] for line in shown] == ["rusty", "coroutine 'double' was never awaited"]


async def test_other_errors_of_a_reconciler_in_a_thread_are_not_touched() -> None:
    with pytest.raises(AttributeError, match="'Request' object has no attribute 'spec'"):
        await reconcile_function(lambda request: request.spec)(Request("a"))


async def test_a_cancelled_one_gets_the_cancellation_when_it_next_waits_and_keeps_its_request_until_it_ends() -> None:
    started, told = threading.Event(), threading.Event()

    async def forever() -> None:
        started.set()
        await asyncio.sleep(1e6)

    def reconcile(request: Request) -> None:
        for coroutine in (forever(), double(1)):
            with pytest.raises(Abandoned, match="abandoned"):
                wait(coroutine)
        told.set()

    task = asyncio.ensure_future(reconcile_function(reconcile)(Request("a")))
    assert await asyncio.to_thread(started.wait, WITHIN)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told.is_set()


async def test_when_the_program_ends_a_thread_that_does_not_end_is_left_behind() -> None:
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def reconcile(request: Request) -> None:
        started.set()
        release.wait(WITHIN)
        ended.set()

    controller = Controller("left-behind", reconcile)
    controller.watch(Feed("a"))
    async with asyncio.timeout(WITHIN / 2):
        async with running(controller):
            assert await asyncio.to_thread(started.wait, WITHIN)
    release.set()
    assert await asyncio.to_thread(ended.wait, WITHIN)


async def test_a_thread_that_takes_too_long_fails_when_it_ends() -> None:
    journal: list[str] = []
    again = threading.Event()

    def reconcile(request: Request) -> None:
        if journal:
            again.set()
        journal.append("begins")
        threading.Event().wait(0.05)  # longer than its timeout
        journal.append("ends")

    controller = Controller("slow-thread", reconcile, ControllerOptions(reconciliation_timeout=0.01))
    controller.watch(Feed("a"))
    async with running(controller):
        assert await asyncio.to_thread(again.wait, WITHIN)
    assert journal[:3] == ["begins", "ends", "begins"]  # no second call while the first one's thread runs
    assert metric("controller_runtime_reconcile_timeouts_total", controller="slow-thread") >= 1


@pytest.mark.covers("T167")
async def test_an_object_reconciler_gets_the_object_or_is_not_called() -> None:
    class OneWidget(Reader):
        async def find(self, kind: Any, name: Any, *misplaced: Never, namespace: str = "") -> Any:
            assert kind is Widget
            return widget(name, namespace) if name == "a" else None

    seen: list[str] = []

    async def reconcile(found: Widget) -> Result:
        seen.append(f"{found.metadata.namespace}/{found.metadata.name}")
        return Result(requeue=True)

    function = as_reconciler(OneWidget(), Widget, reconcile)
    assert await function(Request("a", "b")) == Result(requeue=True)
    assert await function(Request("gone", "b")) is None
    assert seen == ["b/a"]
