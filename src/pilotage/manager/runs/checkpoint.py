"""What a run leaves for the next one: how far each controller has seen its kinds, and which requests are due when.

There is one ConfigMap for each controller, with two values: `seen`, and `due`, a line for each request. A run changes
only the lines of the requests that it has reconciled, so that two processes can share a checkpoint.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from typing import Protocol

import msgspec

from pilotage.client.client import Client
from pilotage.client.conflicts import Backoff, retry_on_conflict
from pilotage.errors import AlreadyExists, NotFound, PilotageError
from pilotage.manager.election.elector import in_cluster_namespace
from pilotage.manager.options import ManagerOptions
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import ObjectMeta
from pilotage.meta.objects import Header
from pilotage.meta.unstructured import Unstructured
from pilotage.meta.validation.names import dns_1123_subdomain
from pilotage.telemetry.logs import logger

LABEL = "pilotage.dev/checkpoint"
"""The label of the ConfigMaps; its value is the name of the checkpoint."""

ALL = "*"
"""In place of a request: all objects of the controller are due."""

MAX_DUE_BYTES = 512 * 1024
"""A ConfigMap has 1 MiB at most. If the lines of the requests are longer, one line for all objects replaces them."""

Identity = Callable[[Header], str]
"""The UID of an object, and what the requests of its events depend on."""

_BACKOFF = Backoff(steps=10)
_CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")  # not the class: a command-line tool starts faster without it

log = logger("pilotage.manager")


class SeenObjects(msgspec.Struct, frozen=True):
    """The objects of one kind at the end of a run."""

    version: int
    """Every change up to this resource version was handled."""
    objects: int
    digest: str
    """The digest of their identities: it shows whether one of them was deleted or remapped since."""
    time: datetime


@dataclass(frozen=True, slots=True)
class ControllerState:
    """The state of one controller between two runs. Requests are `namespace/name`."""

    seen: Mapping[str, SeenObjects] = field(default_factory=dict)
    due: Mapping[str, datetime] = field(default_factory=dict)


class Participant(Protocol):
    """The interface of a controller for the checkpoint."""

    name: str

    def mark_idle(self) -> None:
        """Everything is reconciled now: the next run need not reconcile what was seen so far."""

    def merge(self, record: ControllerState) -> ControllerState:
        """The record with the results of this run."""


class Checkpoint:
    """Reads the records when the manager opens, and writes them when it has stopped."""

    def __init__(self, client: Client, namespace: str, name: str) -> None:
        self.name = name
        self._client = client
        self._namespace = namespace
        self._records: dict[str, ControllerState] = {}  # by the names of their ConfigMaps
        self._participants: list[Participant] = []

    def add(self, participant: Participant) -> None:
        self._participants.append(participant)

    def record(self, controller: str) -> ControllerState | None:
        """The record of a controller at the start; None in its first run."""
        return self._records.get(self._config_map_of(controller))

    async def load(self) -> None:
        found = await self._client.list(_CONFIG_MAP, namespace=self._namespace, labels={LABEL: self.name})
        for each in found:
            try:
                self._records[each.metadata.name] = decoded(_data(each))
            except (ValueError, msgspec.MsgspecError) as error:
                log.error(
                    "Cannot read a checkpoint, all objects are reconciled",
                    configMap=str(each.metadata.name),
                    error=error,
                )

    def mark_idle(self) -> None:
        for each in self._participants:
            each.mark_idle()

    async def save(self) -> None:
        """Write all records, after the last reconcile. What cannot be written is logged: the next run then begins where
        this one did."""
        for each in self._participants:
            try:
                await self._save(each)
            except PilotageError as error:
                log.error("Cannot write the checkpoint of a controller", controller=each.name, error=error)

    async def _save(self, participant: Participant) -> None:
        """Merge into what is stored now: another process may have written it since it was read."""
        write = partial(self._write, self._config_map_of(participant.name), participant)
        await retry_on_conflict(write, _BACKOFF, also=(AlreadyExists, NotFound))

    def _config_map_of(self, controller: str) -> str:
        """The name of the ConfigMap of a controller. Controllers may have any name; one that is not valid there is
        replaced by its digest."""
        name = f"{self.name}-{controller}"
        if not dns_1123_subdomain(name):
            return name
        return f"{self.name}-{blake2b(controller.encode(), digest_size=8).hexdigest()}"

    async def _write(self, name: str, participant: Participant) -> None:
        try:
            stored = await self._client.get(_CONFIG_MAP, name, namespace=self._namespace)
        except NotFound:
            record = participant.merge(ControllerState())
            if not record.due and not any(seen.objects for seen in record.seen.values()):
                return  # without a record, the next run begins with all objects, and so far there are none
            new = Unstructured({"apiVersion": _CONFIG_MAP.version, "kind": _CONFIG_MAP.kind, "data": encoded(record)})
            new.metadata = ObjectMeta(name=name, namespace=self._namespace, labels={LABEL: self.name})
            await self._client.create(new)
            return
        data = encoded(participant.merge(_decoded_or_empty(_data(stored))))
        if data != _data(stored):
            stored["data"] = data
            await self._client.update(stored)


async def open_checkpoint(client: Client, options: ManagerOptions) -> Checkpoint:
    """The checkpoint of a manager, with the records of the last run."""
    namespace = options.leader_election_namespace or in_cluster_namespace() or "default"
    checkpoint = Checkpoint(client, namespace, options.checkpoint)
    await checkpoint.load()
    return checkpoint


def merged(
    record: ControllerState,
    seen: Mapping[str, SeenObjects],
    done: Mapping[str, datetime | None],
    before: Mapping[str, datetime],
    exists: Callable[[str], bool],
) -> ControllerState:
    """A record after a run: `done` has the requests that it has reconciled, with the time at which each is due again.

    Requests of objects that do not exist any more are removed. Of two processes, the one that has seen more counts. A
    line that was not there `before` the run was written by another process, which may have reconciled the request
    later: it is kept, and of two times the earlier one.
    """
    newer = {
        kind: now for kind, now in seen.items() if kind not in record.seen or now.version >= record.seen[kind].version
    }
    due = {key: time for key, time in done.items() if time is not None}
    for key, time in record.due.items():
        if (key not in done or time != before.get(key)) and (key == ALL or exists(key)):
            due[key] = min(time, due.get(key, time))
    return ControllerState({**record.seen, **newer}, bounded(due))


def bounded(due: Mapping[str, datetime]) -> Mapping[str, datetime]:
    """At most `MAX_DUE_BYTES` of lines; if there are more, all objects are due at the earliest of the times."""
    if sum(len(key) + 32 for key in due) <= MAX_DUE_BYTES:
        return due
    return {ALL: min(due.values())}


def seen_of(headers: Iterable[Header], version: int, time: datetime, identity: Identity) -> SeenObjects:
    """What a run has seen of a kind."""
    listed = [identity(header) for header in headers]
    return SeenObjects(version, len(listed), _digest(listed), time)


def was_lost(seen: SeenObjects, headers: Iterable[Header], identity: Identity) -> bool:
    """Whether an object was deleted since, or was changed so that its events lead to other requests. Objects that were
    changed since, and created in the second in which the run ended, may have existed then or not: if neither all nor
    none of them fit, the answer is True."""
    second = seen.time.replace(microsecond=0)
    certain: list[str] = []
    possible: list[str] = []
    for header in headers:
        created = header.creation_timestamp
        if version_of(header) <= seen.version or (created is not None and created < second):
            certain.append(identity(header))
        elif created is not None and created == second:
            possible.append(identity(header))
    fitting = (len(found) == seen.objects and _digest(found) == seen.digest for found in (certain, certain + possible))
    return not any(fitting)


def version_of(header: Header) -> int:
    """The resource version as a number. Any other text counts as newer than all: the object may have changed."""
    return int(header.resource_version) if header.resource_version.isdecimal() else sys.maxsize


def encoded(record: ControllerState) -> dict[str, str]:
    """The values of the ConfigMap."""
    lines = [f"{time.astimezone(UTC).isoformat()} {key}" for key, time in record.due.items()]
    seen = msgspec.json.format(msgspec.json.encode(dict(sorted(record.seen.items()))), indent=2).decode()
    return {"seen": seen, "due": "\n".join(sorted(lines))}


def decoded(data: Mapping[str, str]) -> ControllerState:
    """Raises ValueError."""
    seen = msgspec.json.decode(data.get("seen") or "{}", type=dict[str, SeenObjects])
    lines = [line.partition(" ") for line in data.get("due", "").splitlines()]
    return ControllerState(seen, {key: datetime.fromisoformat(time) for time, _, key in lines})


def _data(config_map: Unstructured) -> Mapping[str, str]:
    data: Mapping[str, str] = config_map.get("data") or {}
    return data


def _decoded_or_empty(data: Mapping[str, str]) -> ControllerState:
    try:
        return decoded(data)
    except (ValueError, msgspec.MsgspecError):
        return ControllerState()


def _digest(identities: Iterable[str]) -> str:
    """The digest of a set of texts, independent of their order."""
    total = sum(int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) for text in identities)
    return f"{total % 2**64:016x}"
