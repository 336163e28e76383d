"""What deleting an object comes to: it goes at once, or is marked and waits. Decided on documents."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from pilotage.errors import Conflict, StatusDetails
from pilotage.meta.causes import invalid_error, not_supported
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind
from pilotage.rest.request import DeleteOptions
from pilotage.server.records import encode, stamp
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.strategy import Strategy

_BY_POLICY = {"Orphan": "orphan", "Foreground": "foregroundDeletion"}


@dataclass(frozen=True, slots=True)
class Remove:
    """The object goes."""

    document: Document


@dataclass(frozen=True, slots=True)
class Mark:
    """The object stays, terminating, until its finalizers are gone."""

    document: Document
    changed: bool


def decide(info: ResourceInfo, document: Document, options: DeleteOptions, *, now: str) -> Remove | Mark:
    """The outcome of a delete. Raises Conflict where a precondition does not hold."""
    check_policy(options)
    check_preconditions(info, document, options)
    before = document["metadata"]
    finalizers = with_policy(list(before.get("finalizers", ())), options.propagation_policy)
    metadata = {key: value for key, value in before.items() if key != "finalizers"}
    if finalizers:
        metadata["finalizers"] = finalizers
    result = document | {"metadata": metadata}
    if "deletionTimestamp" not in before:
        mark(info, result, now)
    if not metadata.get("finalizers") and not info.strategy.blocks_removal(result):
        return Remove(result)
    return Mark(result, changed=result != document)


def mark(info: ResourceInfo, document: Document, now: str) -> None:
    """Make a document into one that is being deleted, in place; its metadata must be the caller's own."""
    strategy, metadata = info.strategy, document["metadata"]
    metadata["deletionTimestamp"] = now
    if strategy.grace_period:
        metadata["deletionGracePeriodSeconds"] = 0
        if strategy.generation:
            metadata["generation"] = metadata.get("generation", 0) + 1
    strategy.prepare_for_delete(document, now)


def check_policy(options: DeleteOptions) -> None:
    """Raises Invalid for a propagation policy that does not exist."""
    if options.propagation_policy not in ("", "Background", *_BY_POLICY):
        choices = ["Foreground", "Background", "Orphan", "nil"]
        cause = not_supported("propagationPolicy", options.propagation_policy, choices)
        raise invalid_error(GroupKind("meta.k8s.io", "DeleteOptions"), "", [cause])


def with_policy(finalizers: list[str], policy: str) -> list[str]:
    """The finalizers once the propagation policy has had its say."""
    if not policy:
        return finalizers
    kept = [name for name in finalizers if name not in _BY_POLICY.values()]
    return [*kept, _BY_POLICY[policy]] if policy in _BY_POLICY else kept


def check_preconditions(info: ResourceInfo, document: Document, options: DeleteOptions) -> None:
    """Raises Conflict unless the object is the one that the caller means."""
    metadata = document["metadata"]
    name, subject = metadata["name"], f'Operation cannot be fulfilled on {info.group_kind} "{metadata["name"]}"'
    details = StatusDetails(name=name, group=info.gvk.group, kind=info.gvk.kind)
    if options.uid and options.uid != metadata["uid"]:
        raise Conflict(
            f"{subject}: the UID in the precondition ({options.uid}) does not match the UID in record "
            f"({metadata['uid']}). The object might have been deleted and then recreated",
            details=details,
        )
    version = metadata["resourceVersion"]
    if options.resource_version and options.resource_version != version:
        raise Conflict(
            f"{subject}: the ResourceVersion in the precondition ({options.resource_version}) does not match "
            f"the ResourceVersion in record ({version}). The object might have been modified",
            details=details,
        )


def answer(info: ResourceInfo, document: Document) -> bytes:
    """What a client is told of an object that is gone."""
    metadata = document["metadata"]
    if info.strategy.returns_deleted_object:
        return stamp(encode(document), int(metadata["resourceVersion"]))
    group, resource = info.group_resource
    details = {"name": metadata["name"], "group": group, "kind": resource, "uid": metadata["uid"]}
    status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return msgspec.json.encode(status | {"details": {key: value for key, value in details.items() if value}})


def finished(strategy: Strategy, document: Document) -> bool:
    """Whether a terminating object has nothing left to wait for: the write that made it so removes it."""
    metadata = document["metadata"]
    return "deletionTimestamp" in metadata and not metadata.get("finalizers") and not strategy.blocks_removal(document)
