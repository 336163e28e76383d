"""What a deletion does: the object is removed at once, or marked and kept for its finalizers. Decided on documents."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from pilotage.errors import Conflict, StatusDetails
from pilotage.meta.causes import invalid_error, not_supported
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind
from pilotage.meta.scalars import times
from pilotage.rest.request import PROPAGATION_POLICIES, APIRequest, DeleteOptions
from pilotage.server.records import encode, stamp
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.rules import clamped
from pilotage.server.strategies.strategy import Strategy

_BY_POLICY = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}


@dataclass(frozen=True, slots=True)
class Remove:
    """The object is removed."""

    document: Document
    marked: bool = False
    """The object is stored as terminating first, as graceful deletions are, so that watches see it."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The object stays, terminating, until its finalizers are removed and its grace period has ended."""

    document: Document
    changed: bool


def decide(info: ResourceInfo, document: Document, options: DeleteOptions, *, now: str) -> Remove | Mark:
    """The outcome of a delete. Raises Conflict if a precondition is not met."""
    check_preconditions(info, document, options)
    before, strategy = document["metadata"], info.strategy
    terminating = "deletionTimestamp" in before
    if terminating and (strategy.blocks_removal(document) or is_pending(info, document, options)):
        return Mark(document, changed=False)
    metadata = {key: value for key, value in before.items() if key != "finalizers"}
    if finalizers := with_policy(list(before.get("finalizers", ())), policy_of(info, before, options)):
        metadata["finalizers"] = finalizers
    result = document | {"metadata": metadata}
    grace = info.strategy.grace_seconds(document, options.grace_period_seconds)
    if not terminating:
        mark(info, result, now, grace or 0)
    elif grace is not None and before.get("deletionGracePeriodSeconds"):
        _shorten(metadata, clamped(options.grace_period_seconds or 0), now)
    elif info.rules.grace_period:
        metadata["deletionGracePeriodSeconds"] = 0  # it was applied with a time of its deletion
    if metadata.get("finalizers") or strategy.blocks_removal(result) or metadata.get("deletionGracePeriodSeconds"):
        return Mark(result, changed=result != document)
    graceful = grace is not None and before.get("deletionGracePeriodSeconds") != 0
    return Remove(result, marked=True) if graceful else Remove(document)


def with_grace_period(info: ResourceInfo, document: Document, request: APIRequest) -> APIRequest:
    """A delete for admission: with the grace period that the object gets, if its kind has one."""
    grace = info.strategy.grace_seconds(document, request.delete.grace_period_seconds)
    if grace is None or grace == request.delete.grace_period_seconds:
        return request
    return replace(request, delete=replace(request.delete, grace_period_seconds=grace))


def is_pending(info: ResourceInfo, document: Document, options: DeleteOptions) -> bool:
    """Whether a graceful deletion is in progress that the options do not shorten: nothing is decided then."""
    metadata, requested = document["metadata"], options.grace_period_seconds
    if "deletionTimestamp" not in metadata or info.strategy.grace_seconds(document, requested) is None:
        return False
    period = metadata.get("deletionGracePeriodSeconds") or 0
    return period > 0 and (requested is None or clamped(requested) >= period)


def mark(info: ResourceInfo, document: Document, now: str, grace: int = 0) -> None:
    """Make a document into one that is being deleted, in place; its metadata must be the caller's own."""
    metadata = document["metadata"]
    metadata["deletionTimestamp"] = times.format(times.parse(now) + _period(grace)) if grace else now
    if info.rules.grace_period:
        metadata["deletionGracePeriodSeconds"] = grace
        if metadata.get("generation"):  # an object that is being deleted is another generation, if it has any
            metadata["generation"] += 1
    info.strategy.prepare_for_delete(document, now)


_LONGEST = 1000 * 365 * 86_400


def _period(seconds: int) -> timedelta:
    """A grace period, at most a thousand years: a longer one cannot be added to a date."""
    return timedelta(seconds=max(-_LONGEST, min(seconds, _LONGEST)))


def _shorten(metadata: Document, period: int, now: str) -> None:
    """Shorten the grace period of an object that is being deleted, in place; its end is not before now."""
    began = times.parse(metadata["deletionTimestamp"]) - _period(metadata["deletionGracePeriodSeconds"])
    end = began + _period(period)
    if end < times.parse(now):
        end, period = times.parse(now), min(period, 1)
    metadata["deletionTimestamp"], metadata["deletionGracePeriodSeconds"] = times.format(end), period


def check_options(options: DeleteOptions) -> None:
    """Raises Invalid for a propagation policy that does not exist, and for what was wrong when they were parsed."""
    causes = [*options.causes]
    if not causes and options.propagation_policy not in ("", *PROPAGATION_POLICIES):
        causes.append(not_supported("propagationPolicy", options.propagation_policy, [*PROPAGATION_POLICIES, "nil"]))
    if causes:
        raise invalid_error(GroupKind("meta.k8s.io", "DeleteOptions"), "", causes)


def policy_of(info: ResourceInfo, metadata: Document, options: DeleteOptions) -> str:
    """The propagation policy of a deletion: requested, else by a finalizer of the object, else the kind's default."""
    rules = info.rules.deletion
    if not rules.has_dependents:
        return "Background"
    if options.orphan_dependents is not None:
        return "Orphan" if options.orphan_dependents else rules.collecting_policy
    if options.propagation_policy:
        return options.propagation_policy
    finalizers = metadata.get("finalizers", ())
    by_finalizer = [policy for policy, finalizer in _BY_POLICY.items() if finalizer in finalizers]
    return by_finalizer[0] if by_finalizer else rules.policy


def with_policy(finalizers: list[str], policy: str) -> list[str]:
    """The finalizers of an object that is deleted with this propagation policy."""
    kept = [name for name in finalizers if name not in _BY_POLICY.values()]
    new = [*kept, _BY_POLICY[policy]] if policy in _BY_POLICY else kept
    return finalizers if set(new) == set(finalizers) else new


def check_preconditions(info: ResourceInfo, document: Document, options: DeleteOptions) -> None:
    """Raises Conflict if a precondition of the caller does not match the object."""
    metadata, stored = document["metadata"], info.stored.gvk  # an Event of events.k8s.io is one of the core group
    if not info.rules.grace_period:
        _check_stored_preconditions(info, metadata, options)
    name, subject = metadata["name"], f'Operation cannot be fulfilled on {stored.group_kind} "{metadata["name"]}"'
    details = StatusDetails(name=name, group=stored.group, kind=stored.kind)
    if options.uid is not None and options.uid != metadata["uid"]:
        raise Conflict(
            f"{subject}: the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated",
            details=details,
        )
    version = metadata["resourceVersion"]
    if options.resource_version is not None and options.resource_version != version:
        raise Conflict(
            f"{subject}: the ResourceVersion in the precondition ({options.resource_version}) does not match "
            f"the ResourceVersion in record ({version}). The object might have been modified",
            details=details,
        )


def _check_stored_preconditions(info: ResourceInfo, metadata: Document, options: DeleteOptions) -> None:
    """As `check_preconditions`, in the words of the kinds that wait for other objects when they are deleted."""
    given = {"UID": options.uid, "ResourceVersion": options.resource_version}
    for (name, value), current in zip(given.items(), (metadata["uid"], metadata["resourceVersion"]), strict=True):
        if value is not None and value != current:
            words = f"Precondition failed: {name} in precondition: {value}, {name} in object meta: {current}"
            raise info.conflict(metadata["name"], words)


def answer(info: ResourceInfo, document: Document, revision: int) -> bytes:
    """The answer about an object that was removed at a revision: some kinds return the object, others a Status."""
    metadata = document["metadata"]
    if info.rules.deletion.returns_object:
        return stamp(encode(document), revision)
    group, resource = info.group_resource
    details = {"name": metadata["name"], "group": group, "kind": resource, "uid": metadata["uid"]}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return msgspec.json.encode(status | {"details": {key: value for key, value in details.items() if value}})


def warnings(info: ResourceInfo, options: DeleteOptions) -> tuple[str, ...]:
    """The warnings about a deletion."""
    explicit = options.propagation_policy or options.orphan_dependents is not None
    warning = info.rules.deletion.warning
    return (warning,) if warning and not explicit else ()


def finished(strategy: Strategy, document: Document) -> bool:
    """Whether a terminating object has nothing left to wait for: the write that made it so removes it."""
    metadata = document["metadata"]
    waits = metadata.get("finalizers") or metadata.get("deletionGracePeriodSeconds")
    return "deletionTimestamp" in metadata and not waits and not strategy.blocks_removal(document)
