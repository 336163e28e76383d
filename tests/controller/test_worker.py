"""What happens to a request for each result of the reconciler."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from pilotage.controller import (
    Controller,
    ControllerOptions,
    InvalidResult,
    Panic,
    ReconciliationTimeout,
    Request,
    Result,
    TerminalError,
    reconcile_id,
)
from pilotage.controller.controller import ManagerSettings
from pilotage.errors import AlreadyExists, ApiError, Conflict, InvalidDefinition, NotFound, StaleCache
from pilotage.manager.failures import ReconcileFailure
from pilotage.manager.options import ManagerOptions
from pilotage.meta.kinds import GroupVersionKind
from pilotage.telemetry.logs import logged_fields
from pilotage.testing.loop import run
from tests.seeds import seeds

from .fakes import Feed, Fleet, Widget, metric, running

pytestmark = pytest.mark.virtual_time

Step = Result | BaseException | Callable[[], Awaitable[Any]] | None


class Script:
    """A reconciler with scripted results, which records when it was called."""

    def __init__(self, *steps: Step) -> None:
        self.steps = list(steps)
        self.calls: list[tuple[str, float]] = []

    async def reconcile(self, request: Request) -> Result | None:
        self.calls.append((request.name, asyncio.get_running_loop().time()))
        step = self.steps.pop(0) if self.steps else None
        if isinstance(step, BaseException):
            raise step
        if callable(step):
            result: Result | None = await step()
            return result
        return step

    @property
    def times(self) -> list[float]:
        return [round(time, 6) for _, time in self.calls]


def controller(name: str, script: Any, *, kind: GroupVersionKind | None = None, **options: Any) -> Controller:
    made = Controller(name, script, ControllerOptions(**options), kind=kind)
    made.watch(Feed("a"))
    return made


def results(name: str) -> dict[str, float]:
    found = {
        result: metric("controller_runtime_reconcile_total", controller=name, result=result)
        for result in ("success", "error", "requeue", "requeue_after")
    }
    return {result: count for result, count in found.items() if count}


@pytest.mark.covers("T45")
async def test_an_error_backs_off_and_others_go_on() -> None:
    calls: list[tuple[str, float]] = []

    async def reconcile(request: Request) -> None:
        calls.append((request.name, round(asyncio.get_running_loop().time(), 6)))
        if request.name == "a":
            raise ValueError

    made = controller("failing", reconcile)
    async with running(made):
        await asyncio.sleep(0.008)
        made.queue.add(Request("b"))
        await asyncio.sleep(0.02)
    assert calls == [("a", 0.0), ("a", 0.005), ("b", 0.008), ("a", 0.015)]


@pytest.mark.covers("T47")
async def test_backoff_doubles_and_is_forgotten_after_a_success() -> None:
    error = ValueError()
    script = Script(error, error, error, None, error, None)
    made = controller("doubling", script)
    async with running(made):
        await asyncio.sleep(1)
        assert script.times == [0.0, 0.005, 0.015, 0.035]
        assert made.queue.num_requeues(Request("a")) == 0
        made.queue.add(Request("a"))
        await asyncio.sleep(1)
        assert script.times[4:] == [1.0, 1.005]
    assert results("doubling") == {"error": 4, "success": 2}


@pytest.mark.covers("T46")
async def test_a_terminal_error_is_counted_twice_and_not_tried_again() -> None:
    wrapped = ValueError("outside")
    wrapped.__cause__ = TerminalError("inside")
    script = Script(TerminalError("no use"), wrapped)
    made = controller("terminal", script)
    async with running(made):
        await asyncio.sleep(2000)
        assert script.times == [0.0]
        made.queue.add(Request("a"))
        await asyncio.sleep(2000)
        assert script.times == [0.0, 2000.0]
    assert metric("controller_runtime_reconcile_errors_total", controller="terminal") == 2
    assert metric("controller_runtime_terminal_reconcile_errors_total", controller="terminal") == 2
    assert results("terminal") == {"error": 2}


async def test_a_terminal_error_does_not_forget_earlier_failures() -> None:
    script = Script(ValueError(), TerminalError("no use"), ValueError())
    made = controller("terminal-kept", script)
    async with running(made):
        await asyncio.sleep(1)
        assert made.queue.num_requeues(Request("a")) == 1
        made.queue.add(Request("a"))
        await asyncio.sleep(1)
        assert script.times == [0.0, 0.005, 1.0, 1.01]


@pytest.mark.covers("T48")
async def test_requeue_is_rate_limited() -> None:
    script = Script(*[Result(requeue=True)] * 3)
    made = controller("requeue", script)
    async with running(made):
        await asyncio.sleep(1)
        assert script.times == [0.0, 0.005, 0.015, 0.035]
    assert results("requeue") == {"requeue": 3, "success": 1}


@pytest.mark.covers("T48")
async def test_requeue_after_is_exact_forgets_failures_and_wins_over_requeue() -> None:
    script = Script(ValueError(), Result(requeue=True, requeue_after=30), ValueError())
    made = controller("requeue-after", script)
    async with running(made):
        await asyncio.sleep(100)
        assert script.times == [0.0, 0.005, 30.005, 30.01]
    assert results("requeue-after") == {"requeue_after": 1, "error": 2, "success": 1}


@pytest.mark.covers("T49")
async def test_an_error_backs_off_by_the_limiter_whatever_delay_was_asked_for_before() -> None:
    script = Script(Result(requeue_after=30), ValueError(), None)
    made = controller("error-delay", script)
    async with running(made):
        await asyncio.sleep(100)
        assert script.times == [0.0, 30.0, 30.005]


@pytest.mark.covers("T50")
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        (ValueError(), 7),
        (Result(requeue=True), 7),
        (Result(requeue_after=1), 7),
        (Result(requeue=True, priority=-3), -3),
        (Result(requeue_after=1, priority=9), 9),
    ],
)
async def test_the_priority_is_kept_or_replaced(step: Step, expected: int) -> None:
    seen: list[int] = []
    script = Script(step)

    async def reconcile(request: Request) -> Result | None:
        seen.append(made.queue.priority_of(request))
        return await script.reconcile(request)

    made = Controller("priorities", reconcile)
    made.queue.add(Request("a"), priority=7)
    async with running(made):
        await asyncio.sleep(10)
    assert seen == [7, expected]


def not_found(kind: GroupVersionKind, name: str, namespace: str = "") -> NotFound:
    error = NotFound(f"{kind.kind} {name} not found")
    error.group, error.kind, error.namespace, error.name = kind.group, kind.kind, namespace, name
    return error


async def test_a_reconcile_whose_own_object_is_gone_ends_quietly(caplog: pytest.LogCaptureFixture) -> None:
    gvk = Fleet.__resource__.gvk
    script = Script(ValueError(), not_found(gvk, "a"), ExceptionGroup("tasks", [not_found(gvk, "a")]))
    made = controller("gone", script, kind=gvk)
    async with running(made):
        await asyncio.sleep(1)
        assert made.queue.num_requeues(Request("a")) == 0
        made.queue.add(Request("a"))
        await asyncio.sleep(1)
    assert script.times == [0.0, 0.005, 1.0]
    assert results("gone") == {"error": 1, "success": 2}
    assert caplog.text.count("Reconciler error") == 1


@pytest.mark.parametrize(
    "error",
    [
        not_found(Fleet.__resource__.gvk, "b"),
        not_found(Fleet.__resource__.gvk, "a", "default"),
        not_found(Widget.__resource__.gvk, "a"),
        not_found(GroupVersionKind("other.dev", "v1", "Fleet"), "a"),
        NotFound("who knows what"),
    ],
)
async def test_anything_else_that_is_not_found_is_an_error(error: NotFound) -> None:
    script = Script(error)
    async with running(controller("missing", script, kind=Fleet.__resource__.gvk)):
        await asyncio.sleep(1)
    assert script.times == [0.0, 0.005]


@pytest.mark.parametrize(
    ("error", "traceback"),
    [(Conflict("changed"), False), (AlreadyExists("there"), False), (StaleCache("late"), False), (ApiError("x"), True)],
)
async def test_what_will_pass_is_an_error_that_is_logged_without_a_traceback(
    error: Exception, traceback: bool, caplog: pytest.LogCaptureFixture
) -> None:
    before = metric("controller_runtime_reconcile_errors_total", controller="conflict")
    script = Script(error)
    async with running(controller("conflict", script)):
        await asyncio.sleep(1)
    assert script.times == [0.0, 0.005]
    assert metric("controller_runtime_reconcile_errors_total", controller="conflict") == before + 1
    [record] = [record for record in caplog.records if "Reconciler error" in record.getMessage()]
    assert bool(record.exc_info) is traceback


async def test_each_failure_is_passed_to_the_callback_of_the_manager(caplog: pytest.LogCaptureFixture) -> None:
    failures: list[ReconcileFailure] = []
    raised = [RuntimeError("the reporter is away"), asyncio.CancelledError(), SystemExit(3)]

    def note(failure: ReconcileFailure) -> None:
        failures.append(failure)
        raise raised[len(failures) - 1]

    first, last = ValueError("not yet"), TerminalError("never")
    made = Controller("noted", Script(first, Conflict("changed"), last), manager=ManagerSettings(on_failure=note))
    made.watch(Feed("a"))
    async with running(made):
        await asyncio.sleep(1)
    assert [(each.controller, each.request, each.is_retried) for each in failures] == [
        ("noted", "a", True),
        ("noted", "a", True),
        ("noted", "a", False),
    ]
    assert (failures[0].error, failures[-1].error) == (first, last)
    assert caplog.text.count("Callback on_reconcile_failure failed") == 3


def test_a_callback_for_failures_cannot_be_async() -> None:
    async def note(failure: ReconcileFailure) -> None:
        raise AssertionError

    with pytest.raises(InvalidDefinition, match="on_reconcile_failure is async"):
        ManagerOptions(on_reconcile_failure=note)  # type: ignore[arg-type]


class Odd(BaseException):
    pass


TWENTY: list[BaseException] = [
    *(ValueError("x"), KeyError("x"), OSError("x"), RecursionError("x"), MemoryError("x"), AssertionError("x")),
    *(StopIteration("x"), StopAsyncIteration("x"), TimeoutError("x"), EOFError("x"), UnicodeError("x"), Warning("x")),
    *(RuntimeError("x"), ConnectionError("x"), ExceptionGroup("x", [ValueError("x")]), ImportError("x")),
    *(SystemExit(3), GeneratorExit("x"), asyncio.CancelledError("x"), Odd("x")),
    BaseExceptionGroup("x", [Odd("x")]),
]


@pytest.mark.covers("F21", "T51")
@pytest.mark.parametrize("error", TWENTY, ids=lambda error: type(error).__name__)
async def test_any_exception_backs_off_and_disturbs_no_other_key(error: BaseException) -> None:
    name = f"raises-{type(error).__name__}"
    calls: list[str] = []

    async def reconcile(request: Request) -> None:
        calls.append(request.name)
        if request.name == "a":
            raise error

    made = controller(name, reconcile, max_concurrent_reconciles=2)
    async with running(made) as task:
        for _ in range(5):
            await asyncio.sleep(0.1)
            made.queue.add(Request("b"))
        await asyncio.sleep(0.1)
        assert not task.done()
    assert calls.count("a") == 7  # at 0, 5, 15, 35, 75, 155 and 315 ms
    assert calls.count("b") == 5
    assert results(name) == {"error": 7, "success": 5}
    panics = 0 if isinstance(error, Exception) else 7
    assert metric("controller_runtime_reconcile_panics_total", controller=name) == panics


@pytest.mark.covers("T51")
async def test_without_recovery_a_panic_ends_the_controller_and_its_other_workers() -> None:
    ended: list[bool] = []

    async def reconcile(request: Request) -> None:
        if request.name == "a":
            raise Odd("x")
        try:
            await asyncio.sleep(1000)
        finally:
            ended.append(True)

    made = controller("no-recovery", reconcile, recover_panic=False, max_concurrent_reconciles=3)
    made.queue.add(Request("b"), priority=5)
    with pytest.raises(Panic, match="Odd"):
        await made.start()
    assert ended == [True]
    assert metric("controller_runtime_reconcile_panics_total", controller="no-recovery") == 1


async def test_without_recovery_an_ordinary_error_still_backs_off() -> None:
    script = Script(ValueError())
    async with running(controller("no-recovery-error", script, recover_panic=False)):
        await asyncio.sleep(1)
    assert script.times == [0.0, 0.005]


async def test_a_wrong_result_of_a_reconciler_is_an_error_that_names_it(caplog: pytest.LogCaptureFixture) -> None:
    nonsense: Any = 5
    script = Script(nonsense)
    async with running(controller("nonsense", script)):
        await asyncio.sleep(1)
    assert script.times == [0.0, 0.005]
    assert (
        f"{InvalidResult.__name__}: a reconciler must return a Result or None, not int: to be called again"
        in caplog.text
    )
    assert metric("controller_runtime_reconcile_panics_total", controller="nonsense") == 1


@pytest.mark.covers("F21")
@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_a_reconciler_that_cancels_its_own_task_does_not_end_the_worker(waits: bool, seed: int) -> None:
    calls: list[str] = []
    name = f"cancels-itself-{waits}-{seed}"

    async def reconcile(request: Request) -> None:
        calls.append(request.name)
        if request.name == "a":
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
            if waits:
                await asyncio.sleep(10)
        else:
            await asyncio.sleep(0)

    async def main() -> None:
        made = controller(name, reconcile)
        async with running(made) as task:
            await asyncio.sleep(0.001)
            for _ in range(3):
                made.queue.add(Request("b"))
                await asyncio.sleep(0.001)
            assert not task.done()

    run(main(), seed=seed)
    assert calls == ["a", "b", "b", "b"]
    assert results(name) == ({"error": 1, "success": 3} if waits else {"success": 4})


@pytest.mark.covers("T52")
async def test_a_reconcile_that_takes_too_long_is_cancelled_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    async def forever() -> None:
        await asyncio.sleep(1e6)

    script = Script(forever)
    async with running(controller("slow", script, reconciliation_timeout=10)):
        await asyncio.sleep(20)
    assert script.times == [0.0, 10.005]
    assert metric("controller_runtime_reconcile_timeouts_total", controller="slow") == 1
    assert f"{ReconciliationTimeout.__name__}: the reconcile took longer" in caplog.text
    assert results("slow") == {"error": 1, "success": 1}


@pytest.mark.covers("T52")
@pytest.mark.parametrize("limit", [10.0, None, 0.0])
async def test_other_time_outs_are_not_counted(limit: float | None) -> None:
    async def own() -> None:
        async with asyncio.timeout(1):
            await asyncio.sleep(100)

    async def in_time() -> None:
        await asyncio.sleep(5)

    async def until_the_end() -> None:
        await asyncio.sleep(9)

    before = metric("controller_runtime_reconcile_timeouts_total", controller="in-time")
    script = Script(own, in_time, until_the_end)
    made = controller("in-time", script, reconciliation_timeout=limit)
    async with running(made):
        await asyncio.sleep(7)
        made.queue.add(Request("a"))
        await asyncio.sleep(1)
    assert len(script.calls) == 3
    assert metric("controller_runtime_reconcile_timeouts_total", controller="in-time") == before


@pytest.mark.covers("T53")
async def test_metrics_are_there_from_the_start_and_follow() -> None:
    release = asyncio.Event()

    async def reconcile(request: Request) -> None:
        await release.wait()

    made = controller("measured", reconcile, max_concurrent_reconciles=3)
    for result in ("error", "requeue_after", "requeue", "success"):
        assert metric("controller_runtime_reconcile_total", controller="measured", result=result) == 0
    async with running(made):
        await asyncio.sleep(2)
        assert metric("controller_runtime_active_workers", controller="measured") == 1
        assert metric("controller_runtime_max_concurrent_reconciles", controller="measured") == 3
        release.set()
        await made.queue.wait_idle()
    assert metric("controller_runtime_active_workers", controller="measured") == 0
    assert metric("controller_runtime_reconcile_time_seconds_sum", controller="measured") == 2
    assert metric("controller_runtime_reconcile_time_seconds_bucket", controller="measured", le="1.75") == 0
    assert metric("controller_runtime_reconcile_time_seconds_bucket", controller="measured", le="2") == 1


@pytest.mark.covers("T54")
async def test_a_reconcile_has_an_id_which_its_log_lines_have() -> None:
    seen: list[dict[str, object]] = []
    ids: list[str] = []

    async def reconcile(request: Request) -> None:
        seen.append(dict(logged_fields()))
        ids.append(reconcile_id())
        assert str(logged_fields()["reconcileID"]) == reconcile_id()

    made = controller("identified", reconcile, kind=Fleet.__resource__.gvk)
    async with running(made):
        await asyncio.sleep(1)
        made.queue.add(Request("b", "default"))
        await asyncio.sleep(1)
    assert reconcile_id() == ""
    assert len(set(ids)) == 2
    assert all(len(one) == 36 for one in ids)
    for fields in seen:
        del fields["reconcileID"]
    same = {"controller": "identified", "controllerGroup": "demo.pilotage.dev", "controllerKind": "Fleet"}
    assert seen == [same | {"namespace": "", "name": "a"}, same | {"namespace": "default", "name": "b"}]


@seeds(3, 15)
def test_each_event_is_followed_by_a_reconcile_and_no_key_is_worked_on_twice_at_once(
    seed: int,
) -> None:
    """F21: random outcomes, random events; this property makes a controller correct."""
    chance = random.Random(seed)
    due: dict[str, float] = {}
    at_work: set[str] = set()

    def outcome() -> Step:
        steps: list[Step] = [None, None, Result(requeue=True), Result(requeue_after=chance.random())]
        steps += [ValueError("x"), SystemExit(1), asyncio.CancelledError(), Conflict("x")]
        return chance.choice(steps)

    async def reconcile(request: Request) -> Result | None:
        assert request.name not in at_work
        at_work.add(request.name)
        due.pop(request.name, None)
        try:
            await asyncio.sleep(chance.choice([0, 0.01, 0.3]))
            step = outcome() if asyncio.get_running_loop().time() < 20 else None
            if isinstance(step, BaseException):
                raise step
            assert not callable(step)
            return step
        finally:
            at_work.discard(request.name)

    async def main() -> None:
        made = Controller("lawful", reconcile, ControllerOptions(max_concurrent_reconciles=3))
        async with running(made) as task:
            for _ in range(200):
                name = chance.choice("abcdef")
                due[name] = asyncio.get_running_loop().time()
                made.queue.add(Request(name), priority=chance.randrange(-100, 3))
                await asyncio.sleep(chance.choice([0, 0.01, 0.2]))
            await asyncio.sleep(30)
            await made.queue.wait_idle(horizon=2000)
            assert not task.done()
            assert due == {}
            assert made.queue.statistics().delayed == 0

    run(main(), seed=seed)
