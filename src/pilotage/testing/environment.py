"""The environment of a test: an API server, a manager and a clock that they share with the test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, Unpack, overload

from pilotage.client.client import Client
from pilotage.client.interception import intercept
from pilotage.cluster.cluster import Cluster
from pilotage.cluster.installation import install
from pilotage.cluster.writes import TrackedTransport
from pilotage.controller.reconcilers.reconciler import AnyReconciler, reconcile_function
from pilotage.controller.request import Request
from pilotage.controller.result import Result
from pilotage.errors import AlreadyExists, InvalidDefinition
from pilotage.manager.errors import ManagerStopped, NotIdle, ShutdownTimeout
from pilotage.manager.failures import ReconcileFailure
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.meta.bounds import amounts
from pilotage.meta.bounds.amounts import Seconds
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.models import ObjectMeta, Resource
from pilotage.meta.objects import copy_of
from pilotage.meta.scalars.times import Clock
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import Transport
from pilotage.testing import failures, stories, waiting
from pilotage.testing.calls import Calls, Fault, ObservedTransport, Writes
from pilotage.testing.changes import Changes, ReadTransport
from pilotage.testing.loop import VirtualLoop
from pilotage.testing.waiting import Conditions, Expectation, Probe

if TYPE_CHECKING:
    from pilotage.dashboard.gathering import Sources
    from pilotage.device.client.clientset import Devices
    from pilotage.workloads import WorkloadOptions, Workloads
    from pilotage.workloads.stages.stage import Stage

T = TypeVar("T")

VIRTUAL_IDLE_SECONDS = 600.0
"""How long `run_until_idle` waits by default in virtual time: enough for many retries."""
WAIT_SECONDS = 60.0
"""How long `eventually`, and `run_until_idle` in real time, wait by default."""


class Environment:
    """An API server, a manager on it, and a client for the test itself. It is open inside `async with`.

    pytest's fixture `pilotage_env` is one, on the embedded API server in memory and on a loop with virtual time.
    Without arguments, this is the same on the running loop; `cluster` is another API server, and `options` are the
    options of the manager.
    """

    def __init__(self, cluster: Cluster | None = None, options: ManagerOptions | None = None) -> None:
        self.cluster = cluster if cluster is not None else Cluster.embedded(clock=loop_clock())
        """The API server."""
        options = options or ManagerOptions()
        self._calls = Calls(self.cluster.rest_mapper, options.history.secret_fields)
        self.cluster.wrap_transport(self._observe)
        self._on_failure = options.on_reconcile_failure
        options = replace(options, handle_signals=False, on_reconcile_failure=self._note_failure)
        self._manager = _ObservedManager(self.cluster, options, self._calls)
        self._exits = AsyncExitStack()
        self._transport: ReadTransport | None = None
        self._launched = False
        self._reported = False
        self._failures: list[ReconcileFailure] = []
        self._workloads: list[Workloads] = []

    @cached_property
    def client(self) -> Client:
        """The test's own client. It reads and writes live; `fail` and `writes` do not apply to it."""
        if self._transport is None:
            raise InvalidDefinition("the environment is not open: use it inside `async with Environment() as env:`")
        transport = TrackedTransport(self._transport, self.cluster.writes)
        return Client(transport, scheme=self.cluster.scheme, rest_mapper=self.cluster.rest_mapper)

    @property
    def manager(self) -> Manager:
        """The manager of the program under test. Its clients are those that `fail` and `writes` are about."""
        return self._manager

    def clock(self) -> datetime:
        """The current time of server, manager and test."""
        return self.manager.clock()

    @property
    def is_behind(self) -> bool:
        """Whether the manager is starting, or its cache does not show all writes yet."""
        return self._launched and self._manager.is_behind

    @property
    def failures(self) -> tuple[ReconcileFailure, ...]:
        """The reconciles that have raised an error so far, in their order."""
        return tuple(self._failures)

    async def given(self, *objects: Resource | Unstructured) -> None:
        """Create objects, each with its status, as they are when the test begins. Namespaces that do not exist are
        created, and the CRDs of classes that the server does not have are installed."""
        for obj in objects:
            await self._prepare(obj)
            wanted = copy_of(obj)
            await self.client.create(obj)
            if (status := _status_of(wanted)) and await self.client.has_subresource(gvk_of(obj), "status"):
                _set_status(obj, status)
                await self.client.update_status(obj)

    @asynccontextmanager
    async def workloads(
        self, options: WorkloadOptions | None = None, *, nodes: int | None = None, stages: Sequence[Stage] | None = None
    ) -> AsyncIterator[Workloads]:
        """Simulated workloads in the block: Deployments, StatefulSets, Jobs and the others get Pods, and the Pods
        become ready, on this number of simulated nodes. Objects of kinds that have `stages` go through these.
        `run_until_idle` waits for them, too."""
        from pilotage.workloads import WorkloadOptions, Workloads

        chosen = options or WorkloadOptions(seed=getattr(asyncio.get_running_loop(), "seed", 0))
        if nodes is not None:
            chosen = replace(chosen, nodes=nodes)
        if stages is not None:
            chosen = replace(chosen, stages=tuple(stages))
        async with Workloads(self.cluster, chosen) as workloads:
            self._workloads.append(workloads)
            try:
                yield workloads
            finally:
                self._workloads.remove(workloads)

    async def run_until_idle(self, timeout: Seconds | None = None, horizon: Seconds = 0) -> None:
        """Run the manager until nothing is left to do: `Manager.run_until_idle`. The manager keeps running until the
        test ends. With simulated workloads: until no Pod is starting or stopping, and nothing is left to do again.

        Raises NotIdle after `timeout` seconds (ten minutes of virtual time, or one of real time); its cause is the
        last error of a reconciler, if there was one.
        """
        self._launched = True
        if timeout is None:
            virtual = isinstance(asyncio.get_running_loop(), VirtualLoop)
            timeout = VIRTUAL_IDLE_SECONDS if virtual else WAIT_SECONDS
        self._check_open("call run_until_idle inside of the block")
        try:
            await self._run_until_idle(amounts.seconds(timeout, "timeout"), amounts.seconds(horizon, "horizon"))
        except NotIdle as error:
            __tracebackhide__ = True
            self._reported = True
            cause = self._failures[-1].error if self._failures else None
            raise error.with_traceback(None) from cause  # without the frames of the manager

    async def _run_until_idle(self, timeout: float, horizon: float) -> None:
        if not self._workloads:
            await self.manager.run_until_idle(timeout, horizon)
            return
        from pilotage.workloads.idle import run_until_idle

        await run_until_idle(self.manager, self._workloads, timeout, horizon)

    @asynccontextmanager
    async def running(self, setup: Callable[[Manager], Awaitable[object]] | None = None) -> AsyncIterator[Manager]:
        """Run the manager in the block, and shut it down in order at its end. Its error is raised there.

        `setup` sets up controllers on the manager first. Under `pilotage.testing.chaos` it is called again after each
        crash of the program, with the manager of the new process. At the beginning of the block everything is started;
        with leader election, except for what needs a leader.
        """
        if setup is not None:
            await setup(self.manager)
        self._launched = True
        self._check_open("put both blocks into one")
        task = asyncio.get_running_loop().create_task(self.manager.start(), name="manager")
        try:
            try:
                await self.manager.ready()
            except ManagerStopped:
                await task  # raises the error
                raise
            yield self.manager
        finally:
            if not self._manager.is_stopping:
                task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()

    async def reconcile(
        self, reconciler: AnyReconciler, request: str | Request | Resource | Unstructured, *, namespace: str = ""
    ) -> Result:
        """Call a reconciler once, for one object, and return its result. Its error is raised here.

        `request` is a name, with a `namespace`, or a request, or the object. The manager's cache runs. No controller
        may be set up on the manager, because it would reconcile at the same time.
        """
        if controllers := self._manager.controllers:
            raise InvalidDefinition(
                f"the controllers of this manager ({', '.join(controllers)}) would reconcile at the same time: use "
                "run_until_idle, or leave out setup_with_manager in a test of one reconcile"
            )
        await self.run_until_idle()
        result = await reconcile_function(reconciler)(_request(request, namespace))
        return result if result is not None else Result()

    @contextmanager
    def writes(self, *, everything: bool = False) -> Iterator[Writes]:
        """The writes of the program in the block, in their order: what reconcilers and other runnables write.

        Not among them: what the test writes with `env.client`, writes that failed, and, unless `everything` is asked
        for, recorded events and leases.
        """
        with self._calls.record(everything=everything) as writes:
            yield writes

    def fail(
        self,
        verb: str,
        kind: Kind,
        error: BaseException,
        *,
        times: int | None = 1,
        name: str = "",
        subresource: str | None = None,
    ) -> Fault:
        """Make calls of the program fail with this error, before they reach the server: the next `times` calls (None:
        all) of a verb and kind, of the object `name` or of any.

        The verbs are the client's: get, list, watch, create, update, patch, apply, delete, delete_all_of. A
        `subresource` is "status", or "" for none; by default, any. `patch_status` is the verb patch.
        """
        checked = times if times is None else amounts.count(times, "times")
        return self._calls.fail(Fault(verb, gvk_of(kind), error, checked, name, subresource))

    @overload
    async def eventually(
        self, probe: Callable[[], Awaitable[T]], *, timeout: Seconds = WAIT_SECONDS, **expected: Unpack[Conditions]
    ) -> T: ...
    @overload
    async def eventually(
        self, probe: Callable[[], T], *, timeout: Seconds = WAIT_SECONDS, **expected: Unpack[Conditions]
    ) -> T: ...
    async def eventually(self, probe: Probe, *, timeout: Seconds = WAIT_SECONDS, **expected: Unpack[Conditions]) -> Any:
        """Wait until what `probe` returns is true, is `is_`, equals `equals` or satisfies a function; and return it.

        The probe may be async. It is called again after each write, and as time passes. An AssertionError or NotFound
        that it raises means: not yet. After `timeout` seconds, AssertionError with the last value.
        """
        __tracebackhide__ = True
        return await waiting.eventually(
            probe, Expectation(**expected), self._changes(), amounts.seconds(timeout, "timeout"), self._hint
        )

    @overload
    async def consistently(
        self, probe: Callable[[], Awaitable[T]], *, seconds: Seconds = 10.0, **expected: Unpack[Conditions]
    ) -> T: ...
    @overload
    async def consistently(
        self, probe: Callable[[], T], *, seconds: Seconds = 10.0, **expected: Unpack[Conditions]
    ) -> T: ...
    async def consistently(self, probe: Probe, *, seconds: Seconds = 10.0, **expected: Unpack[Conditions]) -> Any:
        """Check that the condition is met for `seconds`, after each write and as time passes. Returns the value."""
        __tracebackhide__ = True
        return await waiting.consistently(
            probe, Expectation(**expected), self._changes(), amounts.seconds(seconds, "seconds")
        )

    def report(self) -> str:
        """The failed reconciles for the report of a failed test; empty if none has failed."""
        return failures.report(self._failures) if self._failures else ""

    async def page(self, title: str, failure: str = "") -> bytes:
        """The live page as one file, with what the program has done so far; `failure` is shown in it."""
        from pilotage.dashboard.report import report

        return await report(self._manager.sources(), title, failure)

    def story(self) -> str:
        """The last reconciles for the report of a failed test: why each ran, and what it did; empty if none ran."""
        return stories.story(self._manager.history)

    async def __aenter__(self) -> Environment:
        async with AsyncExitStack() as exits:
            exits.enter_context(failures.shortened_log())
            await exits.enter_async_context(self.manager)
            self._exits = exits.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with suppress(ShutdownTimeout) if self._reported else nullcontext():  # NotIdle has named what does not end
            await self._exits.__aexit__(kind, error, traceback)

    def _check_open(self, remedy: str) -> None:
        if self._manager.is_stopping:
            raise ManagerStopped(
                "the manager of this environment has stopped, as it does at the end of a running() block: "
                f"{remedy}, or use another environment"
            )

    def _note_failure(self, failure: ReconcileFailure) -> None:
        self._failures.append(failure)
        if self._on_failure is not None:
            self._on_failure(failure)

    def _observe(self, transport: Transport) -> Transport:
        self._transport = ReadTransport(transport)
        return ObservedTransport(transport, self._calls)

    def _changes(self) -> Changes:
        """An embedded API server reports its own writes; on a remote one, writes of other clients are watched."""
        return Changes(self.cluster.writes, self._transport if self.cluster.server_url else None)

    def _hint(self) -> str:
        if not self._launched:
            return "\nThe manager does not run: use `async with env.running():` or `await env.run_until_idle()`"
        return "".join(f"\n{line}" for line in (*self._manager.pending, self.report()) if line)

    async def _prepare(self, obj: Resource | Unstructured) -> None:
        from pilotage.types.core.v1 import Namespace

        kind = type(obj)
        if issubclass(kind, Resource) and self.cluster.rest_mapper.known(gvk_of(obj)) is None:
            await install(self.client, [kind], self.cluster.conversions)
        namespace = await self.client.namespace_of(obj)
        if namespace and await self.client.find(Namespace, namespace) is None:
            with suppress(AlreadyExists):  # created at the same time
                await self.client.create(Namespace(metadata=ObjectMeta(name=namespace)))


def loop_clock() -> Clock | None:
    """The clock of the running loop, where it has its own. Given to a cluster, it is the time also in threads."""
    try:
        return getattr(asyncio.get_running_loop(), "now", None)
    except RuntimeError:
        return None


class _ObservedManager(Manager):
    """A manager whose clients can fail also where they read from its cache."""

    def __init__(self, cluster: Cluster, options: ManagerOptions, calls: Calls) -> None:
        super().__init__(cluster, options)
        self._interceptor = calls.interceptor()

    def sources(self) -> Sources:
        """What a page is made from."""
        from pilotage.dashboard.gathering import Sources

        return Sources(self, self._lifecycle, asyncio.get_running_loop().time, "test")

    @property
    def controllers(self) -> list[str]:
        """The names of the controllers that are set up."""
        return sorted(self._controller_names)

    @property
    def is_stopping(self) -> bool:
        return self._lifecycle.stop_asked

    @property
    def is_behind(self) -> bool:
        is_starting = not self._lifecycle.ready and not self.is_stopping
        return is_starting or (self._lag is not None and self._lag.is_behind)

    def add_device_api(self, target: str | Devices = "") -> Devices:
        """In virtual time no socket can be reached: GPUs are objects of the API server, and the target is not used."""
        if isinstance(target, str) and loop_clock() is not None:
            from pilotage.device import connect

            return connect(target)
        return super().add_device_api(target)

    @property
    def pending(self) -> tuple[str, ...]:
        """Why a running manager is not idle, as sentences."""
        return () if self.is_stopping or self._idleness.idle() else self._idleness.busy()

    @property
    def client(self) -> Client:
        return intercept(super().client, self._interceptor)

    @property
    def api_reader(self) -> Client:
        return intercept(super().api_reader, self._interceptor)


def _request(given: str | Request | Resource | Unstructured, namespace: str) -> Request:
    if isinstance(given, str):
        return Request(given, namespace)
    return given if isinstance(given, Request) else Request.of(given)


def _status_of(obj: Any) -> Any:
    return obj.get("status") if isinstance(obj, Unstructured) else getattr(obj, "status", None)


def _set_status(obj: Any, status: Any) -> None:
    if isinstance(obj, Unstructured):
        obj["status"] = status
    else:
        obj.status = status
