"""The calls of a program under test: its writes, recorded, and calls that fail on purpose."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from pilotage.client.client import Client
from pilotage.client.interception import Interceptor
from pilotage.errors import InvalidDefinition
from pilotage.history.secrets import Hider
from pilotage.meta.documents import Document
from pilotage.meta.forms import Kind, gvk_of, key_of
from pilotage.meta.kinds import GroupKind, GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapper, RESTMapping
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import APIRequest, Page, PatchType, Response, Transport, TransportWrapper, Verb
from pilotage.rest.request import READS
from pilotage.telemetry.lines import escaped

VERBS = ("get", "list", "watch", "create", "update", "patch", "apply", "delete", "delete_all_of")
"""The calls of a client that can be made to fail."""

_OWN = (GroupKind("", "Event"), GroupKind("events.k8s.io", "Event"), GroupKind("coordination.k8s.io", "Lease"))
"""Kinds that the runtime itself writes: recorded events, and the lease of a leader."""


_MOST_CONTENT = 1000
"""Characters of a patch that a failed assertion shows."""


@dataclass(frozen=True, slots=True)
class Write:
    """One write that the server has accepted. As text: `patch apps/v1 Deployment default/web status`."""

    verb: str
    """create, update, patch, apply, delete or delete_all_of."""
    gvk: GroupVersionKind
    namespace: str
    name: str
    subresource: str = ""
    sent: bytes = field(default=b"", repr=False)
    """The body of the request: an object, or a patch."""
    received: bytes = field(default=b"", repr=False)
    """The body of the response: the object as it is on the server."""

    @property
    def object(self) -> Unstructured:
        """The object as it was after the write."""
        return Unstructured.from_bytes(self.received)

    def __str__(self) -> str:
        key = f"{self.namespace}/{self.name}".strip("/")
        return " ".join(filter(None, (self.verb, self.gvk.api_version, self.gvk.kind, key, self.subresource)))


class Writes(list[Write]):
    """The writes of a block, in their order. `secret_fields` are paths whose values are not shown."""

    def __init__(self, writes: Iterable[Write] = (), secret_fields: Collection[str] = ()) -> None:
        super().__init__(writes)
        self._hider = Hider(secret_fields)

    def assert_only(self, *expected: str) -> None:
        """Raise AssertionError with the differences, and the content of patches that were not expected, unless the
        writes are these, in this order, and no others."""
        __tracebackhide__ = True
        found = [str(write) for write in self]
        if found == list(expected):
            return
        shown = "\n".join(f"  {line}" for line in self._differences(expected, found))
        raise AssertionError(f"other writes than expected (- expected, + written):\n{shown}")

    def _differences(self, expected: Sequence[str], found: Sequence[str]) -> Iterator[str]:
        writes = iter(self)
        for line in difflib.ndiff(expected, found):
            if line.startswith("?"):
                continue
            yield line
            if not line.startswith("-"):
                write = next(writes)
                if line.startswith("+") and (content := self._content(write)):
                    yield f"    {content}"

    def _content(self, write: Write) -> str:
        """The document of a patch in one line; empty for other writes."""
        if write.verb not in ("patch", "apply"):
            return ""
        try:
            document = msgspec.json.decode(write.sent)
        except msgspec.DecodeError:
            return "(not JSON)"
        if isinstance(document, dict):
            self._hider.hide(write.gvk, document)
        elif write.gvk.kind == "Secret":
            return "(a JSON patch of a Secret)"
        text = escaped(msgspec.json.encode(document).decode())
        return text if len(text) <= _MOST_CONTENT else f"{text[:_MOST_CONTENT]}…"


@dataclass(slots=True)
class Fault:
    """Calls that fail: `times` of them (None: all), of one verb and kind."""

    verb: str
    gvk: GroupVersionKind
    error: BaseException
    times: int | None
    name: str = ""
    subresource: str | None = None
    count: int = 0
    """How many calls have failed so far."""

    def matches(self, verb: str, gvk: GroupVersionKind, name: str, subresource: str) -> bool:
        return (
            (self.times is None or self.count < self.times)
            and (self.verb, self.gvk) == (verb, gvk)
            and self.name in ("", name)
            and self.subresource in (None, subresource)
        )

    def remove(self) -> None:
        """No more calls fail."""
        self.times = self.count


class Calls:
    """What the program under test calls. Writes and watches are seen on their way to the server, with their responses;
    get and list of a manager's client are seen before its cache answers them."""

    def __init__(self, mapper: RESTMapper, secret_fields: Collection[str] = ()) -> None:
        self._mapper = mapper
        self._secret_fields = secret_fields
        self._faults: list[Fault] = []
        self._recorders: list[tuple[Writes, bool]] = []
        self._mappings: dict[GroupVersionResource, RESTMapping] = {}

    def fail(self, fault: Fault) -> Fault:
        if fault.verb not in VERBS:
            raise InvalidDefinition(f"{fault.verb!r} is not a call of a client; there are: {', '.join(VERBS)}")
        self._faults.append(fault)
        return fault

    @contextmanager
    def record(self, *, everything: bool) -> Iterator[Writes]:
        recorder = (Writes(secret_fields=self._secret_fields), everything)
        self._recorders.append(recorder)
        try:
            yield recorder[0]
        finally:
            self._recorders.remove(recorder)

    def check(self, verb: str, gvk: GroupVersionKind, name: str, subresource: str = "") -> None:
        """Raise the error of a fault for this call, if there is one."""
        for fault in self._faults:
            if fault.matches(verb, gvk, name, subresource):
                fault.count += 1
                raise fault.error.with_traceback(None)

    def check_request(self, request: APIRequest) -> None:
        if self._faults and request.verb not in (Verb.GET, Verb.LIST):
            self.check(_verb(request), self._gvk(request), _name(request), request.subresource)

    def note(self, request: APIRequest, received: bytes) -> None:
        if not self._recorders or request.verb in READS or request.write.dry_run or request.delete.dry_run:
            return
        gvk = self._gvk(request)
        write = Write(
            _verb(request),
            gvk,
            request.namespace,
            _name(request) or _generated_name(received),
            request.subresource,
            request.body,
            received,
        )
        for writes, everything in self._recorders:
            if everything or GroupKind(gvk.group, gvk.kind) not in _OWN:
                writes.append(write)

    def interceptor(self) -> Interceptor:
        """For clients that read from a cache: their get and list fail as get and list of other clients do."""

        async def get(client: Client, kind: Kind, name: Any, *, namespace: str = "", **options: Any) -> Any:
            self.check("get", gvk_of(kind), key_of(name, namespace)[1])
            return await client.get(kind, name, namespace=namespace, **options)

        async def list_(client: Client, kind: Kind, **options: Any) -> Any:
            self.check("list", gvk_of(kind), "")
            return await client.list(kind, **options)

        return Interceptor(get=get, list=list_)

    def _gvk(self, request: APIRequest) -> GroupVersionKind:
        """The kind of a resource. A kind that discovery does not list is named after its resource."""
        resource = request.resource
        if resource not in self._mappings:
            self._mappings = {mapping.resource: mapping for mapping in self._mapper.mappings}
        found = self._mappings.get(resource)
        return found.gvk if found is not None else GroupVersionKind(resource.group, resource.version, resource.resource)


class ObservedTransport(TransportWrapper):
    """Sends every request, unless a fault is set for it, and records the writes."""

    def __init__(self, inner: Transport, calls: Calls) -> None:
        super().__init__(inner)
        self._calls = calls

    def prepare(self, request: APIRequest) -> APIRequest:
        self._calls.check_request(request)
        return request

    async def call(self, request: APIRequest) -> Response:
        response = await super().call(request)
        self._calls.note(request, response.body)
        return response

    async def list(self, request: APIRequest) -> Page:
        page = await super().list(request)
        self._calls.note(request, b"")
        return page


def _verb(request: APIRequest) -> str:
    if request.verb is Verb.PATCH and request.content_type == PatchType.APPLY.value:
        return "apply"
    return "delete_all_of" if request.verb is Verb.DELETE_COLLECTION else request.verb.value


def _name(request: APIRequest) -> str:
    if request.name or request.verb is not Verb.CREATE:
        return request.name
    return _generated_name(request.body)


def _generated_name(data: bytes) -> str:
    """The name of the object in a body; empty where it is not an object, or not one with a name."""
    if not data.startswith(b"{"):
        return ""
    document: Document = Unstructured.from_bytes(data).document
    return str((document.get("metadata") or {}).get("name") or "")
