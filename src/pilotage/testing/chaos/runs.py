"""One run of a scenario: a fresh loop, a fresh server in memory, seeded values, and the faults of a plan."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from pilotage.errors import InvalidDefinition
from pilotage.manager.options import ManagerOptions
from pilotage.storage.interface import Entry, Event
from pilotage.testing.chaos.environment import ChaosEnvironment
from pilotage.testing.chaos.injection.storage import Template
from pilotage.testing.chaos.invariants import Invariant, declared_in
from pilotage.testing.chaos.plan import Plan
from pilotage.testing.chaos.seeding import ChaosLoop, seeded
from pilotage.testing.chaos.session import Session
from pilotage.testing.environment import Environment
from pilotage.testing.testloop import within

Scenario = Callable[[Environment], Awaitable[None]]
"""A whole run of a test: it sets up an empty server, runs the program, acts as a user, and asserts."""

_COLLECTED_AFTER = 20
RUN_SECONDS = 10 * 86400.0
"""Virtual seconds after which a run is ended."""


@dataclass(slots=True)
class Run:
    """What has happened in one run."""

    plan: Plan
    session: Session
    entries: Sequence[Entry]
    """The objects in the end that were written in this run."""
    error: BaseException | None = None

    @property
    def commits(self) -> Sequence[Event]:
        return self.session.commits


class Runner(Protocol):
    """Runs a scenario with a plan."""

    name: str
    """The name of the scenario."""
    module: str

    def run(self, plan: Plan, *, on_other_day: bool = False) -> Run: ...


class ScenarioRunner:
    """Runs a coroutine function."""

    def __init__(
        self, scenario: Scenario, options: ManagerOptions | None = None, invariants: Sequence[Invariant] = ()
    ) -> None:
        check_no_loop()
        self.name = getattr(scenario, "__qualname__", type(scenario).__name__)
        self.module = getattr(scenario, "__module__", "")
        self._scenario = scenario
        self._options = options
        self._invariants = (*declared_in(self.module), *invariants)

    def run(self, plan: Plan, *, on_other_day: bool = False) -> Run:
        loop = ChaosLoop(plan.seed, on_other_day=on_other_day)
        session = Session(plan, loop, template(), self._invariants, dawdles=on_other_day)
        with seeded(plan.seed, loop), quiet(loop), asyncio.Runner(loop_factory=lambda: loop) as runner:
            error = runner.run(self._once(session))
        return finished(session, error)

    async def _once(self, session: Session) -> BaseException | None:
        """Run the scenario, and return its error."""
        try:
            async with ChaosEnvironment(session, self._options) as environment:
                await within(RUN_SECONDS, _body(self._scenario, environment))
        except Exception as error:
            return error
        return None


async def _body(scenario: Scenario, environment: Environment) -> None:
    await scenario(environment)


def finished(session: Session, error: BaseException | None) -> Run:
    """The run of a session that has ended."""
    return Run(session.plan, session, session.entries(), error)


def check_no_loop() -> None:
    """Raise InvalidDefinition inside of a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise InvalidDefinition(
        "chaos runs a scenario on loops of its own, and cannot be called inside a running event loop: call "
        "chaos.explore in a plain `def` test, or mark an async test with @pytest.mark.pilotage_chaos"
    )


@cache
def template() -> Template:
    """The objects of a new API server, created once for all runs."""
    loop = ChaosLoop(0)
    session = Session(Plan(), loop)

    async def opened() -> None:
        async with ChaosEnvironment(session):
            pass

    with seeded(0, loop), asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(opened())
    return session.storage.template()


@contextmanager
def quiet(loop: ChaosLoop) -> Iterator[None]:
    """Report nothing of the tasks of killed programs, and collect no garbage: a run must not depend on when that is."""
    loop.set_exception_handler(lambda loop, context: None)
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def many_runs() -> Iterator[Callable[[], None]]:
    """For a block with many runs: a function that is called after each, and collects the garbage of some runs at once.
    What exists already is left out, which makes that fast."""
    runs = 0

    def ended() -> None:
        nonlocal runs
        runs += 1
        if runs % _COLLECTED_AFTER == 0:
            gc.collect()

    was_enabled = gc.isenabled()
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield ended
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()
