"""The flow schema of a request: kube-apiserver names it, and its priority level, in the headers of each answer.

Requests are not queued here. Clients and people see in the headers which FlowSchema a request belongs to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pilotage.errors import PilotageError
from pilotage.meta.documents import Document
from pilotage.rest.users import SERVICE_ACCOUNT
from pilotage.server import records
from pilotage.server.access.rules import ALL, AccessAttributes
from pilotage.storage.interface import Storage

REFRESH_SECONDS = 1.0
"""How old the known flow schemas may be; kube-apiserver has them from a watch."""
_MAX_FOUND = 1024
_GROUP = "flowcontrol.apiserver.k8s.io"


@dataclass(frozen=True, slots=True)
class FlowSchema:
    """A flow schema for matching: its rules, and the headers of a request that it matches."""

    rules: Sequence[Document]
    headers: tuple[tuple[str, str], ...]


class Flows:
    """The flow schemas of one tenant."""

    def __init__(self, storage: Storage, prefix: str, clock: Callable[[], float]) -> None:
        self._storage = storage
        self._prefix = f"{prefix}{_GROUP}/"
        self._clock = clock
        self._schemas: list[FlowSchema] = []
        self._read_at: float | None = None
        self._found: dict[tuple[object, ...], tuple[tuple[str, str], ...]] = {}
        """The headers by what rules match in a request for a resource, since the schemas were read."""

    async def headers(self, attributes: AccessAttributes) -> tuple[tuple[str, str], ...]:
        """The headers of the answer to a request: the uids of its flow schema and of its priority level."""
        now = self._clock()
        if self._read_at is None or now - self._read_at > REFRESH_SECONDS:
            self._read_at = now
            with suppress(PilotageError):  # the answer itself reports the error of the storage
                self._schemas = await self._read()
                self._found.clear()
        user, resource = attributes.user, attributes.full_resource
        asked = (user.name, user.groups, attributes.verb, attributes.group, resource, attributes.namespace)
        found = self._found.get(asked)
        if attributes.path or found is None:
            found = self._match(attributes)
            if not attributes.path and len(self._found) < _MAX_FOUND:
                self._found[asked] = found
        return found

    def _match(self, attributes: AccessAttributes) -> tuple[tuple[str, str], ...]:
        for schema in self._schemas:
            if any(matches(rule, attributes) for rule in schema.rules):
                return schema.headers
        return ()

    async def _read(self) -> list[FlowSchema]:
        levels = {
            level["metadata"]["name"]: level["metadata"]["uid"]
            for level in await self._list("prioritylevelconfigurations")
        }
        found = await self._list("flowschemas")
        found.sort(key=lambda schema: (schema["spec"].get("matchingPrecedence", 0), schema["metadata"]["name"]))
        return [
            FlowSchema(
                schema["spec"].get("rules") or (),
                (
                    ("x-kubernetes-pf-flowschema-uid", schema["metadata"]["uid"]),
                    ("x-kubernetes-pf-prioritylevel-uid", levels[level]),
                ),
            )
            for schema in found
            if (level := schema["spec"]["priorityLevelConfiguration"]["name"]) in levels
        ]

    async def _list(self, resource: str) -> list[Document]:
        snapshot = await self._storage.list(f"{self._prefix}{resource}/")
        return [records.decode(entry.value) for entry in snapshot.entries]


def matches(rule: Document, attributes: AccessAttributes) -> bool:
    """Whether a rule of a flow schema applies to a request: to its user, and to what it does."""
    if not any(_is(subject, attributes) for subject in rule.get("subjects") or ()):
        return False
    if attributes.path:
        return any(_matches_path(each, attributes) for each in rule.get("nonResourceRules") or ())
    return any(_matches_resource(each, attributes) for each in rule.get("resourceRules") or ())


def _is(subject: Document, attributes: AccessAttributes) -> bool:
    match subject.get("kind"):
        case "User":
            return subject["user"]["name"] in (ALL, attributes.user.name)
        case "Group":
            name = subject["group"]["name"]
            return name == ALL or name in attributes.user.groups
        case "ServiceAccount":
            account = subject["serviceAccount"]
            owner = f"{SERVICE_ACCOUNT}{account['namespace']}:"
            if account["name"] == ALL:
                return attributes.user.name.startswith(owner)
            return attributes.user.name == owner + str(account["name"])
    return False


def _matches_path(rule: Document, attributes: AccessAttributes) -> bool:
    return _has(rule["verbs"], attributes.verb) and any(
        pattern in (ALL, attributes.path) or (pattern.endswith("/*") and attributes.path.startswith(pattern[:-1]))
        for pattern in rule["nonResourceURLs"]
    )


def _matches_resource(rule: Document, attributes: AccessAttributes) -> bool:
    in_scope = (
        _has(rule.get("namespaces") or (), attributes.namespace) if attributes.namespace else rule.get("clusterScope")
    )
    return bool(
        in_scope
        and _has(rule["verbs"], attributes.verb)
        and _has(rule["apiGroups"], attributes.group)
        and _has(rule["resources"], attributes.full_resource)
    )


def _has(values: Sequence[str], wanted: str) -> bool:
    return ALL in values or wanted in values
