"""Runs the reconciles of a recording again, with a program: `replay(session, setup)`."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import msgspec

from pilotage.controller.controller import Controller
from pilotage.controller.request import Request
from pilotage.controller.worker import Worker
from pilotage.history.records import EventNote, ReadNote, Step
from pilotage.history.runs import Run
from pilotage.meta.kinds import GroupVersionKind
from pilotage.recording.assembly import RecordedRequest, RecordedRun
from pilotage.recording.randomness import watched_values
from pilotage.recording.reader import Session
from pilotage.replay.environment import ReplayManager
from pilotage.replay.outcomes import Ended, Outcome, Verdict
from pilotage.replay.tape import ObjectKey, ReplayTape
from pilotage.testing.loop import VirtualLoop
from pilotage.workqueue import WorkQueue

_LONGEST = 86400.0
"""Seconds of virtual time after which a reconcile waits for what the recording does not have."""
_IO = "but virtual time is for code without sockets"
"""In the error of the virtual loop, where the program uses the network."""

Setup = Callable[[ReplayManager], Any]
"""Adds the program to a manager; async or not."""
Breakpoint = Callable[[Controller], None]
"""Is called before a reconcile."""


def replay(
    session: Session,
    setup: Setup,
    *,
    numbers: Collection[int] | None = None,
    before: Breakpoint | None = None,
    report: Callable[[Outcome, Run], None] = lambda outcome, run: None,
) -> list[Outcome]:
    """Run the reconciles of a recording again: all, or those with these `numbers`.

    `setup` adds the program to the manager that it is given. `before` is called before each reconcile, and `report`
    after it, with the run as it was on replay, whose story `run.controller.history.stories` makes. Nothing is logged
    unless there is a `before`.
    """

    async def main() -> list[Outcome]:
        manager = ReplayManager(session.served)
        async with manager:
            if asyncio.iscoroutine(added := setup(manager)):
                await added
            player = _Player(session, manager, before)
            outcomes = []
            for recorded in session.runs:
                player.learn(recorded)
                if numbers is None or recorded.run.number in numbers:
                    outcome, run = await player.play(recorded)
                    report(outcome, run)
                    outcomes.append(outcome)
            return outcomes

    with (
        watched_values(),
        nullcontext() if before is not None else _silence(),
        asyncio.Runner(loop_factory=_ReplayLoop) as runner,
    ):
        return runner.run(main())


class _ReplayLoop(VirtualLoop):
    """The time of the recording."""

    _moment = (0.0, datetime.fromtimestamp(0).astimezone())

    def set_time(self, moment: float, at: datetime) -> None:
        """Set the time of the loop, and the time of day."""
        self._moment = moment, at
        self._virtual_time = moment

    def now(self) -> datetime:
        since, at = self._moment
        return at + timedelta(seconds=self._virtual_time - since)


class _ReplayQueue(WorkQueue[Request]):
    """A queue on which nothing waits: what the next request is, the recording says."""

    def priority_of(self, item: Request) -> int:
        return 0

    def add(self, item: Request, **_: Any) -> None:
        pass

    def forget(self, item: Request) -> None:
        pass


class _Tapes:
    """Sets the tape of the reconcile that begins."""

    keeps_lists = True

    def __init__(self) -> None:
        self.next: ReplayTape | None = None

    def begun(self, run: Run) -> None:
        run.tape = self.next

    def step(self, run: Run, step: Step) -> None:
        pass

    def ended(self, run: Run) -> None:
        pass


class _Player:
    def __init__(self, session: Session, manager: ReplayManager, before: Breakpoint | None) -> None:
        self._history = session.history
        self._manager = manager
        self._before = before
        self._controllers = manager.controllers
        self._workers = {name: _worker(one) for name, one in self._controllers.items()}
        self._tapes = _Tapes()
        manager.history.subscribe(self._tapes)
        self._known: dict[ObjectKey, bytes] = {}
        self._types: dict[str, type[Request]] = {}
        for kind in _subclasses(Request):
            self._types[kind.__qualname__] = self._types[f"{kind.__module__}:{kind.__qualname__}"] = kind

    def learn(self, recorded: RecordedRun) -> None:
        """Remember the objects that the causes and the reads of a reconcile show."""
        for _, note in recorded.run.notes:
            if isinstance(note, EventNote) and note.origin.kind is not None:
                self._see(note.origin.kind, note.namespace, note.name, note.new_data)
        for step in recorded.run.steps:
            if isinstance(step, ReadNote):
                self._see(step.kind, step.namespace, step.name, step.data)

    def _see(self, kind: GroupVersionKind, namespace: str, name: str, data: bytes | None) -> None:
        if data is None:
            self._known.pop((kind, namespace, name), None)
        else:
            self._known[kind, namespace, name] = data

    async def play(self, recorded: RecordedRun) -> tuple[Outcome, Run]:
        """Run one reconcile again."""
        run = recorded.run
        controller = self._controllers.get(run.controller.name)
        if controller is None:
            return self._missing(run)
        loop = cast("_ReplayLoop", asyncio.get_running_loop())
        loop.set_time(run.began, self._history.time_of(run.began))
        tape = self._tapes.next = ReplayTape(recorded, self._known)
        request = self._request(cast("RecordedRequest", run.request))
        journal = controller.job.journal
        replayed = journal.begin(request, run.notes, loop.time(), run.priority)
        replayed.number = run.number
        if self._before is not None:
            self._before(controller)
        limit = asyncio.timeout(_LONGEST)
        try:
            with suppress(TimeoutError):
                async with limit:
                    await self._workers[controller.name].reconcile(request, replayed)
        finally:
            journal.end(replayed, loop.time())
        if limit.expired():  # the worker has handled the cancellation
            tape.ended = tape.ended or Ended(Verdict.LACKING, "it waits for what the recording does not have")
        return _outcome(recorded, replayed, tape), replayed

    def _request(self, recorded: RecordedRequest) -> Request:
        # By the name alone where the other version of the program has it in another module.
        kind = self._types.get(recorded.type) or self._types.get(recorded.type.rpartition(":")[2])
        if kind is None:
            return Request(recorded.name, recorded.namespace)
        try:
            found: Request = msgspec.convert(recorded.fields, kind)
        except msgspec.ValidationError:  # another version of the class
            return Request(recorded.name, recorded.namespace)
        return found

    def _missing(self, run: Run) -> tuple[Outcome, Run]:
        known = ", ".join(sorted(self._controllers)) or "none"
        ended = Ended(Verdict.LACKING, f"the program has no controller {run.controller.name!r}; it has: {known}")
        return _judged(run, ended), run


def _outcome(recorded: RecordedRun, replayed: Run, tape: ReplayTape) -> Outcome:
    run = recorded.run
    if run.skipped:
        return _judged(run, Ended(Verdict.LACKING, "it has more steps than a history records of one reconcile"))
    ended = tape.ended or tape.check_end(replayed)
    if ended is not None and ended.verdict is Verdict.DIFFERENT and _IO in replayed.error:
        ended = Ended(Verdict.LACKING, "it uses the network: record the result of the call with pt.recorded(call)")
    if ended is not None and ended.verdict is not Verdict.IDENTICAL and tape.needs_secrets:
        text = "it needs secret values, of which the recording has hashes: record with record_secrets=True"
        ended = Ended(Verdict.HIDDEN, text)
    ended = ended or Ended(Verdict.IDENTICAL)
    if tape.assumed:
        ended.text = f"{ended.text or 'the same'}; it also reads {tape.assumed[0]}, as it was last seen"
    return _judged(run, ended)


def _judged(run: Run, ended: Ended) -> Outcome:
    request = run.request
    return Outcome(
        run.number,
        run.controller.name,
        request.name,
        request.namespace,
        ended.verdict,
        ended.text,
        ended.changes,
    )


def _worker(controller: Controller) -> Worker:
    queue = _ReplayQueue(controller.name)
    return Worker(replace(controller.job, queue=queue, on_failure=None))


def _subclasses(kind: type[Request]) -> Iterator[type[Request]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _subclasses(each)


@contextmanager
def _silence() -> Iterator[None]:
    """Lines of the program are in the recording; it would log them again."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
