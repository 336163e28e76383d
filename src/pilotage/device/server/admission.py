"""Admission of GPUs: a provider writes its own conditions, and no object is larger than allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from pilotage.device.server import merging
from pilotage.device.wire.generation import KIND, RESOURCE
from pilotage.errors import BadRequest, Cause, RequestTooLarge
from pilotage.meta.bounds.optionfields import check_fields, count_field
from pilotage.meta.bounds.recent import Recent
from pilotage.meta.causes import duplicate, invalid, invalid_error, required, too_many
from pilotage.meta.documents import Document
from pilotage.meta.scalars import times
from pilotage.rest.request import User, Verb
from pilotage.server.admission import Attributes
from pilotage.telemetry.logs import logger

REPEAT_SECONDS = 600.0
_KEPT = 1024
_SHOWN = 5
_log = logger("pilotage.device.server")
MAX_PROVIDER = 128
AUTHORIZED = ("system:masters",)
"""The groups of callers: the roles of the Device API are checked before the registry is called."""
SERVER = User("system:device-server", groups=(*AUTHORIZED, "system:device-server"))
"""The server itself: what it writes is stored as it is."""
UNSPOKEN = "unspoken"
"""Key of `User.extra`: the fields of metadata that the wire of this user cannot carry. An update keeps them."""
_ACTION = b"recommendedAction"


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a server stores. The defaults suffice for the largest nodes and need about 128 MiB."""

    objects: int = count_field(1024)
    """The number of GPUs."""
    labels: int = count_field(64)
    """The number of labels of one GPU."""
    object_bytes: int = count_field(64 * 1024)
    """The size of one stored GPU with all its conditions."""
    providers: int = count_field(1024)
    """The number of providers that send heartbeats."""

    def __post_init__(self) -> None:
        check_fields(self)


def check_provider(provider: str) -> None:
    """Raises BadRequest for an invalid provider id."""
    if not 0 < len(provider) <= MAX_PROVIDER or not provider.isprintable():
        raise BadRequest(f"invalid provider id {provider[:40]!r}: must have 1 to {MAX_PROVIDER} printable characters")


class GPUAdmission:
    """Merges what a provider sends into what is stored, and checks the limits."""

    def __init__(self, limits: Limits, clock: times.Clock) -> None:
        self._limits = limits
        self._clock = clock
        self._conflicts = ConditionConflicts()

    async def mutate(self, attributes: Attributes) -> None:
        """An admission function: the conditions of other providers stay."""
        new, old = attributes.new, attributes.old
        if attributes.resource != RESOURCE or new is None or attributes.user.groups == SERVER.groups:
            return
        if old is not None:
            _check_uid(new, old)
            if attributes.request.verb is Verb.UPDATE:  # a patch leaves the other fields alone
                _keep_unspoken(attributes.user, new["metadata"], old["metadata"])
        if old is None or attributes.subresource == "status":
            self._merge_status(attributes, new, (old or {}).get("status", {}))

    def _merge_status(self, attributes: Attributes, new: Document, before: Document) -> None:
        provider, name = attributes.user.name, new["metadata"].get("name", "")
        sent = status_of(new, name)
        if attributes.request.verb is Verb.PATCH and _ACTION not in attributes.request.body:
            # The patch was applied to the public status, where the action is the most severe one of all providers.
            sent = merging.with_own_action(sent, before, provider)
        if "providers" in (new.get("status") or ()):
            attributes.warnings.append('unknown field "status.providers"')
        ignored = merging.ignored(before, sent, provider)
        now = asyncio.get_running_loop().time()
        attributes.warnings.extend(self._conflicts.warnings(name, provider, ignored, now))
        new["status"] = merging.merged(before, sent, provider, times.format(times.now(self._clock)))

    async def validate(self, attributes: Attributes) -> None:
        """An admission function: checks the limits on labels and bytes."""
        if attributes.resource == RESOURCE and attributes.new is not None:
            check_limits(attributes.new, self._limits)


def check_limits(document: Document, limits: Limits) -> None:
    """Raises Invalid and RequestTooLarge."""
    metadata = document["metadata"]
    name, labels = metadata.get("name", ""), metadata.get("labels", ())
    if len(labels) > limits.labels:
        raise invalid_error(KIND.group_kind, name, [too_many("metadata.labels", len(labels), limits.labels)])
    size = len(msgspec.json.encode(document))
    if size > limits.object_bytes:
        raise RequestTooLarge(
            f"GPU {name!r} has {size} bytes, and the limit is {limits.object_bytes}: shorten its conditions"
        )


def _keep_unspoken(user: User, metadata: Document, old: Document) -> None:
    for key in user.extra.get(UNSPOKEN, ()):
        if key in old:
            metadata.setdefault(key, old[key])


def _check_uid(new: Document, old: Document) -> None:
    uid, was = new["metadata"].get("uid"), old["metadata"]["uid"]
    if uid and uid != was:
        cause = invalid("metadata.uid", uid, "field is immutable")
        raise invalid_error(KIND.group_kind, old["metadata"]["name"], [cause])


def status_of(document: Document, name: str) -> Document:
    """The part of a caller's status that is merged. Raises Invalid."""
    status = document.get("status")
    if status is None:
        return {}
    causes: list[Cause] = []
    conditions = status.get("conditions") if isinstance(status, dict) else None
    if not isinstance(status, dict) or not isinstance(conditions, list | None):
        raise BadRequest("status must be an object, and status.conditions a list")
    seen: set[str] = set()
    for index, condition in enumerate(conditions or []):
        kind = condition.get("type") if isinstance(condition, dict) else None
        if not isinstance(kind, str) or not kind:
            causes.append(required(f"status.conditions[{index}].type"))
        elif kind in seen:
            causes.append(duplicate(f"status.conditions[{index}]", {"type": kind}))
        else:
            seen.add(kind)
    if causes:
        raise invalid_error(KIND.group_kind, name, causes[:10])
    action = status.get("recommendedAction")
    if action is not None and not isinstance(action, str):
        raise BadRequest("status.recommendedAction must be a string")
    return {
        "conditions": [
            {key: value for key, value in condition.items() if key != "provider"} for condition in conditions or []
        ],
        "recommendedAction": action,
    }


class ConditionConflicts:
    """Warns about conditions that a provider sends and another provider owns, and remembers what was logged. Time is
    passed in."""

    def __init__(self) -> None:
        self._logged_at: Recent[tuple[str, str, str], float] = Recent(_KEPT)

    def warnings(self, name: str, provider: str, ignored: Sequence[tuple[str, str]], now: float) -> tuple[str, ...]:
        """The warnings for conditions that were not written; `ignored` has their types and owners."""
        for kind, owner in ignored:
            if self._is_due((name, kind, provider), now):
                _log.warning(
                    "Ignored a condition that belongs to another provider",
                    name=name,
                    type=kind,
                    owner=owner,
                    provider=provider,
                )
        return tuple(
            f"condition {kind!r} of GPU {name!r} was not written: it belongs to provider {owner!r}"
            for kind, owner in ignored[:_SHOWN]
        )

    def _is_due(self, key: tuple[str, str, str], now: float) -> bool:
        last = self._logged_at.get(key)
        fresh = last is None or now - last >= REPEAT_SECONDS
        self._logged_at[key] = now if last is None or fresh else last
        return fresh
