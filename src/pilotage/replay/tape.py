"""The tape of a reconcile that is replayed: it has the recorded reads, answers, times and other values, by what asks
for them. Requests that are sent at the same time may come in another order than they were recorded in.
"""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from random import Random
from typing import Any, TypeVar

import msgspec

from pilotage import errors
from pilotage.errors import PilotageError, Status, from_status
from pilotage.history.differences import Change
from pilotage.history.recorded import error_of
from pilotage.history.records import CallNote, ListNote, ReadNote
from pilotage.history.runs import Run
from pilotage.history.tapes import Kept, failed_read
from pilotage.meta.kinds import GroupVersionKind
from pilotage.recording.assembly import RecordedRun
from pilotage.recording.entries import Failure
from pilotage.recording.tape import CLOCK, RANDOM_BYTES, SECRET_BYTES
from pilotage.replay.comparison import Key, changes_between, description, is_equal, key_of
from pilotage.replay.outcomes import Ended, Verdict
from pilotage.rest import APIRequest, Page, Response, Verb
from pilotage.rest.request import READS

T = TypeVar("T")


ObjectKey = tuple[GroupVersionKind, str, str]
"""Kind, namespace and name."""


class ReplayTape:
    """Answers one reconcile from its recording."""

    is_replayed = True

    def __init__(self, recorded: RecordedRun, known: Mapping[ObjectKey, bytes]) -> None:
        """`known` are the objects as they were last seen before this reconcile."""
        self._recorded = recorded
        self._known = known
        self.assumed: list[str] = []
        """The objects that it reads and the recorded reconcile did not; it has them as they were last seen."""
        self.ended: Ended | None = None
        """Why the reconcile cannot go on."""
        self.needs_secrets = recorded.hidden
        self._reads: dict[tuple[GroupVersionKind, str, str], deque[ReadNote]] = defaultdict(deque)
        self._lists: dict[tuple[GroupVersionKind, str, str], deque[ListNote]] = defaultdict(deque)
        self._calls: dict[Key, list[tuple[int, CallNote]]] = defaultdict(list)
        self._values: Mapping[str, deque[Kept]] = {name: deque(kept) for name, kept in recorded.values.items()}
        for step in recorded.run.steps:
            if isinstance(step, ReadNote):
                self._reads[step.kind, step.namespace, step.name].append(step)
            elif isinstance(step, ListNote):
                self._lists[step.kind, step.namespace, step.selector].append(step)
        for number, call in recorded.calls.items():
            self._calls[key_of(call.request)].append((number, call))

    # What the reconcile reads

    def read(self, kind: GroupVersionKind, namespace: str, name: str) -> ReadNote | None:
        """What a cache had; None if the object was not read from it, but from the server."""
        found = self._next(self._reads.get((kind, namespace, name)))
        if found is None:
            self._raise_failure(kind, namespace, name)
        if found is None and not self.has_read(kind, namespace, name):
            what = f"{kind.kind} {namespace}/{name}" if namespace else f"{kind.kind} {name}"
            if (data := self._known.get((kind, namespace, name))) is not None:
                self.assumed.append(what)
                return ReadNote(kind, namespace, name, data)
            raise self._end(Verdict.LACKING, f"it reads {what}, which the recorded reconcile did not")
        if found is not None and self._recorded.hidden and found.data:
            data = _with_placeholders(kind, found.data)
            found = ReadNote(kind, namespace, name, data, found.is_live)
        return found

    def has_read(self, kind: GroupVersionKind, namespace: str, name: str) -> bool:
        """Whether the object was read from the server."""
        return any(key[0] is Verb.GET and key[1] == kind.group and key[3:5] == (namespace, name) for key in self._calls)

    def list(self, kind: GroupVersionKind, namespace: str, selector: str) -> ListNote | None:
        """What a cache had; None if the list was not read from it."""
        found = self._next(self._lists.get((kind, namespace, selector)))
        if found is None:
            self._raise_failure(kind, namespace)
        if found is None and not any(key[0] is Verb.LIST and key[1] == kind.group for key in self._calls):
            where = f" in {namespace}" if namespace else ""
            raise self._end(Verdict.LACKING, f"it lists {kind.kind}{where}, which the recorded reconcile did not")
        return found

    def _raise_failure(self, kind: GroupVersionKind, namespace: str, name: str = "") -> None:
        """Raise the recorded error of a read, if it has failed."""
        kept = self._next(self._values.get(failed_read(kind, namespace, name)))
        if kept is not None:
            raise error_of(kept)

    @staticmethod
    def _next(found: deque[T] | None) -> T | None:
        """The next of equal reads; the last one again where the reconcile now reads once more."""
        if not found:
            return None
        return found.popleft() if len(found) > 1 else found[0]

    # What it sends

    async def answer(self, request: APIRequest) -> Response | Page:
        """The recorded answer to a request. A request that is not the recorded one ends the reconcile."""
        number, call = self._matching(request)
        if number not in self._recorded.answered:
            raise self._end(Verdict.IDENTICAL, "the recording ends while this request is sent")
        if (failure := self._recorded.failures.get(number)) is not None:
            if failure.kind == "asyncio.exceptions:CancelledError":
                await asyncio.get_running_loop().create_future()  # it was cancelled while it waited
            raise _error(failure)
        if isinstance(call.answer, Page):
            return call.answer
        body = call.answer or b""
        if self._recorded.hidden and request.resource.resource == "secrets":
            body = _with_placeholders(_SECRET, body)
        return Response(body)

    def _matching(self, request: APIRequest) -> tuple[int, CallNote]:
        known = self._calls.get(key_of(request), [])
        for position, (number, call) in enumerate(known):
            if number in self._recorded.hidden_bodies or is_equal(call.request, request):
                return known.pop(position)
        if not known:
            verdict = Verdict.LACKING if request.verb in READS else Verdict.DIFFERENT
            raise self._end(verdict, f"it sends {description(request)}, which the recorded reconcile did not")
        changes = changes_between(known[0][1].request, request)
        raise self._end(Verdict.DIFFERENT, f"it sends another {description(request)}", changes)

    def check_end(self, run: Run) -> Ended | None:
        """After the reconcile has returned: whether it did all that was recorded."""
        recorded = self._recorded.run
        left = [call for calls in self._calls.values() for _, call in calls if call.request.verb not in READS]
        if left:
            return Ended(Verdict.DIFFERENT, f"it no longer sends {description(left[0].request)}")
        if recorded.ended is not None and run.result != recorded.result:
            after, before = (f"{one.result}: {one.error}" if one.error else one.result for one in (run, recorded))
            return Ended(Verdict.DIFFERENT, f"its result is {after}, and was {before}")
        return None

    # What else it reads

    @cached_property
    def random(self) -> Random:
        return Random(self._recorded.seed)  # noqa: S311 as the program has asked for

    def answered(self, run: Run, call: CallNote) -> None:
        pass

    def failed(self, run: Run, call: CallNote, error: BaseException) -> None:
        pass

    def moment(self, clock: Callable[[], datetime]) -> datetime:
        kept = self._next(self._values.get(CLOCK))
        try:
            return datetime.fromisoformat(kept.data.decode()) if kept is not None else _loop_time()
        except ValueError:
            return _loop_time()

    def entropy(self, count: int, source: Callable[[int], bytes], *, is_secret: bool) -> bytes:
        values = self._values.get(SECRET_BYTES if is_secret else RANDOM_BYTES)
        kept = values.popleft() if values else None
        if kept is not None and len(kept.data) == count:
            return bytes(kept.data)
        self.needs_secrets |= is_secret
        return self.random.randbytes(count)

    def recalled(self, call: str) -> Kept | None:
        values = self._values.get(call)
        if not values:
            raise self._end(Verdict.LACKING, f"it calls {call}, whose result is not in the recording")
        return values.popleft()

    def keep(self, call: str, result: Kept) -> None:
        pass

    # How it ends early

    def _end(self, verdict: Verdict, text: str, changes: tuple[Change, ...] = ()) -> Ended:
        """What the caller raises; the first one is why the reconcile has ended."""
        self.ended = self.ended or Ended(verdict, text, changes)
        return self.ended


_SECRET = GroupVersionKind("", "v1", "Secret")
_DOCUMENT = msgspec.json.Decoder(dict[str, Any])


def _with_placeholders(kind: GroupVersionKind, data: bytes) -> bytes:
    """A Secret whose hashes are in base64, as its values were."""
    if kind.group or kind.kind != "Secret":
        return data
    try:
        document = _DOCUMENT.decode(data)
    except (msgspec.MsgspecError, RecursionError):
        return data
    values = document.get("data")
    if isinstance(values, dict):
        document["data"] = {name: b64encode(str(value).encode()).decode() for name, value in values.items()}
    return msgspec.json.encode(document)


def _error(failure: Failure) -> Exception:
    """The error of a request, as the client raised it."""
    if failure.status:
        try:
            return from_status(Status.from_document(_DOCUMENT.decode(failure.status)))
        except (msgspec.MsgspecError, RecursionError):
            return PilotageError(failure.message)
    kind = getattr(errors, failure.kind.rpartition(":")[2], None)
    if isinstance(kind, type) and issubclass(kind, PilotageError):
        return kind(failure.message)
    return TimeoutError(failure.message) if failure.kind.endswith(":TimeoutError") else PilotageError(failure.message)


def _loop_time() -> datetime:
    found: datetime = asyncio.get_running_loop().now()  # type: ignore[attr-defined]  # a replay has virtual time
    return found
