"""The environment of a scenario under chaos: the program has the faults, and the test's own side has none."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext, suppress
from dataclasses import replace
from typing import Any

from pilotage.cluster.cluster import Cluster
from pilotage.errors import ApiError, InvalidDefinition
from pilotage.manager.errors import ManagerStopped, NotIdle
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.meta.bounds import amounts
from pilotage.meta.bounds.amounts import Seconds
from pilotage.rest import APIRequest, PatchType, Response, Transport, TransportWrapper, Verb
from pilotage.testing.chaos.faults import HOLD_SECONDS
from pilotage.testing.chaos.lives import Program
from pilotage.testing.chaos.session import Session, resource_name
from pilotage.testing.environment import VIRTUAL_IDLE_SECONDS, Environment, _ObservedManager

DAWDLE_SECONDS = 3 * HOLD_SECONDS + 1
"""Longer than a restart and a cache that is behind take together."""
SLACK_SECONDS = 600.0
"""How much longer than without faults a run may take to become idle."""


class ChaosEnvironment(Environment):
    """An environment whose program runs in `running(setup)`, with the faults of a session."""

    def __init__(self, session: Session, options: ManagerOptions | None = None) -> None:
        self.session = session
        self._program: Program | None = None
        super().__init__(Cluster.embedded(session.storage, clock=session.loop.now), options)
        self._options = replace(self._manager.options, graceful_shutdown_timeout=0 if session.plan.faults else 30.0)

    @property
    def manager(self) -> Manager:
        """The manager of the current life of the program."""
        life = self._program.life if self._program is not None else None
        return life.manager if life is not None and life.manager is not None else self._manager

    @asynccontextmanager
    async def running(self, setup: Callable[[Manager], Awaitable[object]] | None = None) -> AsyncIterator[Manager]:
        if setup is None:
            raise InvalidDefinition(
                "chaos starts the program again after each crash: pass the function that sets it up, as in "
                "`async with env.running(setup):`"
            )
        self._check_outside()
        if self._program is not None:
            raise InvalidDefinition(
                "a program runs already in this environment: set up all its controllers in one setup"
            )
        program = self._program = Program(self.cluster, self.session, setup, self._options, self._new_manager)
        self.session.is_over = False
        program.begin()
        try:
            await program.ready(SLACK_SECONDS)
            yield self.manager
        finally:
            self._program = None
            await program.stop()

    async def run_until_idle(self, timeout: Seconds | None = None, horizon: Seconds = 0) -> None:
        program = self._program
        if program is None:
            self._check_outside()
            await super().run_until_idle(timeout, horizon)
            return
        seconds = VIRTUAL_IDLE_SECONDS if timeout is None else amounts.seconds(timeout, "timeout")
        ahead = amounts.seconds(horizon, "horizon")
        step, due = self.session.note("idle", "run_until_idle")
        for fault in due:
            self.session.hit(fault, "run_until_idle")
        if any(fault.kind == "early" for fault in due):
            return
        faulty = bool(self.session.plan.faults)
        deadline = asyncio.get_running_loop().time() + seconds * (2 if faulty else 1) + (SLACK_SECONDS if faulty else 0)
        await self._until_idle(program, deadline, ahead)
        if self.session.dawdles:
            await asyncio.sleep(DAWDLE_SECONDS)
            await self._until_idle(program, deadline + DAWDLE_SECONDS, ahead)
        self.session.snapshots[step.number] = self.session.entries()
        for fault in due:
            if fault.kind in ("down", "stale-start"):
                (await program.ready(SLACK_SECONDS)).kill(fault if fault.kind == "stale-start" else None)

    async def _until_idle(self, program: Program, deadline: float, horizon: float) -> None:
        """Wait until the program has nothing left to do, in the life that it then has, and no fault is in force."""
        clock, session = asyncio.get_running_loop().time, self.session
        while True:
            await session.calm()
            if session.stopped:
                raise NotIdle((session.stopped,), clock())
            life = await program.ready(max(1.0, deadline - clock()))
            assert life.manager is not None
            idle = asyncio.ensure_future(self._idle(life.manager, max(0.0, deadline - clock()), horizon))
            ended = asyncio.ensure_future(program.ended(life))
            try:
                await asyncio.wait([idle, ended], return_when=asyncio.FIRST_COMPLETED)
            finally:
                ended.cancel()
                if not idle.done():
                    idle.cancel()
                    await asyncio.wait([idle])
            if idle.cancelled() or life.killed.is_set():
                continue
            if isinstance(idle.exception(), ManagerStopped):
                await asyncio.sleep(0.01)
                continue
            idle.result()
            if not session.is_calm:
                continue
            if not life.is_behind and program.life is life and not self.cluster.busy():
                return
            await asyncio.sleep(0.01)
            if clock() > deadline:
                raise NotIdle(("faults, or lists and watches of the program, do not end",), clock())

    async def _idle(self, manager: Manager, seconds: float, horizon: float) -> None:
        if not self._workloads:
            await manager.run_until_idle(seconds, horizon)
            return
        from pilotage.workloads.idle import run_until_idle

        await run_until_idle(manager, self._workloads, seconds, horizon)

    def _check_outside(self) -> None:
        if controllers := self._manager.controllers:
            raise InvalidDefinition(
                f"the controllers {', '.join(controllers)} are set up outside of running(setup): chaos starts the "
                "program again after each crash, so set them up in the function that `env.running(setup)` is given"
            )

    def _new_manager(self, cluster: Cluster, options: ManagerOptions) -> Manager:
        return _ObservedManager(cluster, options, self._calls)

    def _observe(self, transport: Transport) -> Transport:
        observed = super()._observe(transport)
        assert self._transport is not None
        self._transport = _Actions(self._transport, self.session)  # type: ignore[assignment]  # is not asked for its reads here
        return observed

    async def __aenter__(self) -> ChaosEnvironment:
        await super().__aenter__()
        self.session.begin()
        return self

    async def __aexit__(self, *error: Any) -> None:
        with suppress(Exception) if self.session.hits else nullcontext():
            await super().__aexit__(*error)


class _Actions(TransportWrapper):
    """The requests of the test itself, noted and, for one fault, sent twice."""

    def __init__(self, inner: Transport, session: Session) -> None:
        super().__init__(inner)
        self._session = session

    async def call(self, request: APIRequest) -> Response:
        key = f"{request.namespace}/{request.name}".strip("/")
        what = f"{request.verb.value} {resource_name(request)} {key}".strip()
        if request.verb is Verb.GET:
            self._session.note("look", what, resource_name(request), key=key)  # type: ignore[arg-type]  # no fault is counted by it
            return await self._inner.call(request)
        step, due = self._session.note("action", what, resource_name(request), verb=request.verb.value, key=key)
        response = await self._inner.call(request)
        step.changed = self._session.storage.revision
        for fault in due:
            if is_repeatable(request):
                self._session.hit(fault, what)
                with suppress(ApiError):
                    await self._inner.call(request)
        return response


def is_repeatable(request: APIRequest) -> bool:
    """Whether a request may be sent twice: it says what is wanted, not what to change."""
    if request.verb is Verb.PATCH:
        return request.content_type != PatchType.JSON.value
    return request.verb is Verb.DELETE


def is_repeatable_verb(verb: str) -> bool:
    """Whether a request of this verb may be sent twice; of a patch its type decides, too."""
    return verb in (Verb.PATCH.value, Verb.DELETE.value)
