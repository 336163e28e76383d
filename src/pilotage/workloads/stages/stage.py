"""The interface of a stage, and what it does to an object: values that a caller applies."""

from __future__ import annotations

from datetime import datetime
from random import Random
from typing import Any, Literal, NamedTuple, Protocol

from pilotage.errors import PilotageError
from pilotage.meta.values import Value
from pilotage.workloads.stages.moment import Moment

Document = dict[str, Any]
PatchType = Literal["json", "merge", "strategic"]
ApplyType = Literal["apply", "merge", "strategic"]


class StageFailed(PilotageError):
    """A stage that cannot be evaluated for an object: nothing was changed. `stage` is its name."""

    def __init__(self, stage: str, message: str) -> None:
        self.stage = stage
        super().__init__(f"Stage {stage}: {message}")


class ResourceRef(NamedTuple):
    """The kind of the objects that a stage is for. `api_version` is `v1` or a group and a version: `apps/v1`."""

    api_version: str
    kind: str


POD, NODE = ResourceRef("v1", "Pod"), ResourceRef("v1", "Node")


class Event(Value, frozen=True):
    """An Event about the object."""

    type: str
    reason: str
    message: str


class Patch(Value, frozen=True):
    """A patch of the object: a document, or a list of operations if its type is `json`."""

    type: PatchType
    document: Any
    subresource: str = ""


class Apply(Value, frozen=True):
    """Another object that is created. If it exists, it is changed by this type: server-side apply, or a patch.

    With a subresource it has to exist. Without a namespace it is in that of the object.
    """

    type: ApplyType
    document: Document
    subresource: str = ""


class Delete(Value, frozen=True):
    """The deletion of the object, without a grace period."""


Action = Event | Patch | Apply | Delete


class Step(Value, frozen=True):
    """What a stage does to an object, in this order."""

    actions: tuple[Action, ...]
    immediate: bool = False
    """Whether the next stage is chosen for the result of the last patch, without waiting for the watch."""

    @property
    def patches(self) -> tuple[Patch, ...]:
        """The patches among the actions."""
        return tuple(action for action in self.actions if isinstance(action, Patch))

    @property
    def events(self) -> tuple[Event, ...]:
        """The Events among the actions."""
        return tuple(action for action in self.actions if isinstance(action, Event))

    @property
    def deletes(self) -> bool:
        """Whether the object is deleted."""
        return any(isinstance(action, Delete) for action in self.actions)


class Stage(Protocol):
    """A step in the life of the objects of a kind. Methods raise StageFailed; they do not change the document."""

    @property
    def name(self) -> str:
        """The name, for messages."""
        ...

    @property
    def resource(self) -> ResourceRef:
        """The kind of the objects."""
        ...

    def matches(self, document: Document) -> bool:
        """Whether the stage can come next for the object."""
        ...

    def weight(self, document: Document) -> int | None:
        """How often it is chosen, among the stages that match. None: only if no stage that matches has a weight."""
        ...

    def delay(self, document: Document, now: datetime, random: Random) -> float:
        """Seconds until the step, at least 0."""
        ...

    def step(self, document: Document, moment: Moment) -> Step:
        """What it does to the object."""
        ...
