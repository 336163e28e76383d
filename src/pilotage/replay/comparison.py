"""Compares a request with the recorded one."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import UNSET

from pilotage.history.differences import Change, differences
from pilotage.rest import APIRequest, PatchType, Verb

_DECODER = msgspec.json.Decoder(Any)
_COMPARED = ("content_type", "options", "write", "delete", "parameters", "form")
"""The fields of a request that are compared beside its body. Its key is equal already."""
Key = tuple[Verb, str, str, str, str, str]


def key_of(request: APIRequest) -> Key:
    """What identifies a request among the requests of one reconcile, beside its body."""
    resource = request.resource
    return request.verb, resource.group, resource.resource, request.namespace, request.name, request.subresource


def is_equal(recorded: APIRequest, sent: APIRequest) -> bool:
    """Whether both requests are the same for a server."""
    return recorded.body == sent.body and all(getattr(recorded, name) == getattr(sent, name) for name in _COMPARED)


def changes_between(recorded: APIRequest, sent: APIRequest) -> tuple[Change, ...]:
    """The fields in which two requests differ."""
    found = [
        Change(name, getattr(recorded, name), getattr(sent, name))
        for name in _COMPARED
        if getattr(recorded, name) != getattr(sent, name)
    ]
    if recorded.body != sent.body:
        found += _changes_of_bodies(recorded.body, sent.body)
    return tuple(_plain(change) for change in found)


def description(request: APIRequest) -> str:
    """`patch configmaps default/main`."""
    is_apply = request.verb is Verb.PATCH and request.content_type == PatchType.APPLY.value
    verb = "apply" if is_apply else request.verb.value
    what = f"{request.resource.resource}/{request.subresource}" if request.subresource else request.resource.resource
    name = "/".join(part for part in (request.namespace, request.name or _name_in(request.body)) if part)
    return f"{verb} {what} {name}".rstrip()


def _changes_of_bodies(recorded: bytes, sent: bytes) -> list[Change]:
    old, new = _document(recorded), _document(sent)
    found = [*differences(old, new)]
    # The rest differs in what `differences` leaves out (uids, versions), or in the order of fields.
    return found or [Change("body", recorded.decode(errors="replace"), sent.decode(errors="replace"))]


def _document(body: bytes) -> dict[str, Any]:
    try:
        document: Any = _DECODER.decode(body or b"{}")
    except (msgspec.DecodeError, RecursionError):
        return {"body": body.decode(errors="replace")}
    return document if isinstance(document, dict) else {"operations": document}


def _name_in(body: bytes) -> str:
    metadata = _document(body).get("metadata")
    return str(metadata.get("name") or metadata.get("generateName") or "") if isinstance(metadata, dict) else ""


def _plain(change: Change) -> Change:
    """A change whose values can be shown as JSON."""
    old, new = (
        value if value is UNSET else msgspec.to_builtins(value, str_keys=True) for value in (change.old, change.new)
    )
    return Change(change.path, old, new)
