"""What reconcilers want, apart from what they send: the last statement of each request about each object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from pilotage.client.desired import STATED, settable
from pilotage.client.patch import own_document
from pilotage.history.differences import differences
from pilotage.history.history import History
from pilotage.history.records import CallNote, Step
from pilotage.history.runs import CURRENT, Run
from pilotage.meta.forms import Object, gvk_of
from pilotage.meta.kinds import GroupVersionKind
from pilotage.rest import PatchType, Verb


class Reconciled(NamedTuple):
    """A request of a controller."""

    controller: str
    namespace: str
    name: str


class Written(NamedTuple):
    """An object that a program writes."""

    kind: GroupVersionKind
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind.kind} {self.name}"


Fields = Mapping[str, Any]
"""Values by the paths of their fields."""
Statements = Mapping[Written, Fields]
"""What one reconcile wants of each object."""


class StatedObjects:
    """A listener of a history. Only reconciles without an error count: another one may have stopped half way."""

    keeps_lists = False

    def __init__(self, history: History) -> None:
        self._history = history
        self._open: dict[int, dict[Written, Fields]] = {}
        self.latest: dict[Reconciled, Statements] = {}
        """The statements of the last reconcile of each request."""

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen inside the block, to what this task and those that it starts reconcile."""
        stop, token = self._history.subscribe(self), STATED.set(self._state)
        try:
            yield
        finally:
            STATED.reset(token)
            stop()

    def begun(self, run: Run) -> None:
        self._open[run.number] = {}

    def step(self, run: Run, step: Step) -> None:
        """Is read at the end."""

    def ended(self, run: Run) -> None:
        statements = self._open.pop(run.number, None)
        if statements is None or run.error:
            return
        for step in run.steps:
            if isinstance(step, CallNote) and step.request.content_type == PatchType.APPLY.value:
                statements |= self._applied(step)
        key = Reconciled(run.controller.name, run.request.namespace, run.request.name)
        self.latest[key] = statements

    def _state(self, obj: Object) -> None:
        """An object that `create_or_patch` was asked for."""
        run = CURRENT.get()
        statements = self._open.get(run.number) if isinstance(run, Run) else None
        if statements is not None:
            gvk, metadata = gvk_of(obj), obj.metadata
            statements[Written(gvk, metadata.namespace, metadata.name)] = self._fields(gvk, own_document(obj))

    def _applied(self, call: CallNote) -> dict[Written, Fields]:
        request = call.request
        gvk = self._history.kind_of(request.resource)
        if request.verb is not Verb.PATCH or request.subresource or gvk is None or call.error:
            return {}
        try:
            document = msgspec.json.decode(request.body, type=dict[str, Any])
        except msgspec.DecodeError:
            return {}  # YAML
        return {Written(gvk, request.namespace, request.name): self._fields(gvk, document)}

    def _fields(self, gvk: GroupVersionKind, document: dict[str, Any]) -> Fields:
        """The fields that a program sets, without secret values."""
        shown = self._history.stories.document_of(gvk, msgspec.json.encode(settable(document)))
        return {change.path: change.new for change in differences({}, shown)}
