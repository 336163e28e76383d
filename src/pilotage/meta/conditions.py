"""Status conditions: set, find and remove them, with transition times that change only when the status does."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from pilotage.meta.documents import Document
from pilotage.meta.scalars import times

Status = Literal["True", "False", "Unknown"]


class AnyCondition(Protocol):
    """A condition of any kind: a `Condition`, a PodCondition, a JobCondition."""

    @property
    def type(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def last_transition_time(self) -> datetime | None: ...


C = TypeVar("C", bound=AnyCondition)

_ALWAYS_SET = ("reason", "message", "observed_generation")
"""The fields that a new condition sets even where it has no value for them; others, such as `last_probe_time`, are kept
then."""


def set_status_condition(conditions: list[C], condition: C, *, clock: times.Clock = times.system_clock) -> bool:
    """Add a condition, or update the one of its type; True if anything changed.

    The transition time changes only with the status: to the one that `condition` has, else to what `clock` returns.
    The conditions may be conditions of a built-in kind, as a Pod's.
    """
    given: Any = condition
    existing = find_status_condition(conditions, condition.type)
    if existing is None:
        moment = condition.last_transition_time or times.now(clock)
        conditions.append(msgspec.structs.replace(given, last_transition_time=moment))
        return True
    changes: dict[str, object] = {}
    if existing.status != condition.status:
        changes = {"status": condition.status}
        changes["last_transition_time"] = condition.last_transition_time or times.now(clock)
    for field in given.__struct_fields__:
        value = getattr(condition, field)
        if field in _ALWAYS_SET or (value is not None and field not in ("type", "status", "last_transition_time")):
            changes |= {field: value} if getattr(existing, field) != value else {}
    for field, value in changes.items():
        setattr(existing, field, value)
    return bool(changes)


def with_condition(conditions: Iterable[Document], condition: Document) -> list[Document]:
    """The conditions of a document with one set. A condition that has the same status keeps its transition time."""
    old = next((one for one in conditions if one.get("type") == condition["type"]), None)
    if old is None:
        return [*conditions, condition]
    if old.get("status") == condition["status"]:
        condition = condition | {"lastTransitionTime": old.get("lastTransitionTime")}
    return [condition if one is old else one for one in conditions]


def remove_status_condition(conditions: list[C], type_: str) -> bool:
    """Remove every condition of this type; True if there was one."""
    before = len(conditions)
    conditions[:] = [condition for condition in conditions if condition.type != type_]
    return len(conditions) != before


def find_status_condition(conditions: Iterable[C], type_: str) -> C | None:
    """The condition of this type, not a copy; None if there is none."""
    return next((condition for condition in conditions if condition.type == type_), None)


def is_status_condition_true(conditions: Iterable[AnyCondition], type_: str) -> bool:
    """Whether the condition exists and is `True`."""
    return is_status_condition_present_and_equal(conditions, type_, "True")


def is_status_condition_false(conditions: Iterable[AnyCondition], type_: str) -> bool:
    """Whether the condition exists and is `False`."""
    return is_status_condition_present_and_equal(conditions, type_, "False")


def is_status_condition_present_and_equal(conditions: Iterable[AnyCondition], type_: str, status: Status) -> bool:
    """Whether the condition exists and has this status."""
    found = find_status_condition(conditions, type_)
    return found is not None and found.status == status
