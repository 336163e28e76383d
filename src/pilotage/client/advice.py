"""What the refusal of an API server leaves out, added from the request: the object, its values and what to do.

The server's answer stays as it is, in `status`.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from pilotage.errors import ApiError, BadRequest, Invalid, RequestTooLarge
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.selectors.selection import without_nil
from pilotage.rest import APIRequest, Verb

_UNMARSHAL = re.compile(r"cannot unmarshal \w+ into field (?P<path>\S+) of type (?P<type>\S+)")
_TYPED = re.compile(r": \.(?P<path>\S+): expected (?P<type>\w+)[^,]*, got ")
"""The error of a server-side apply."""
_NAIVE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?")
_STEP = re.compile(r"[^.\[\]]+|\[[^\]]*\]")
_WRITES = (Verb.CREATE, Verb.UPDATE, Verb.PATCH)
_LONGEST = 100
_MOST = 5
_UNNAMED = ' "" is invalid: '
"""The beginning of the message about a patch that cannot be applied: the server does not name the object."""
_MISSING = object()


def add_advice(error: ApiError, request: APIRequest, gvk: GroupVersionKind) -> None:
    """Complete the message of an error."""
    message = without_nil(str(error))
    added = list(_advice(error, message, request, gvk))[:_MOST]
    names_nothing = message.startswith(_UNNAMED)
    if (added and isinstance(error, BadRequest | RequestTooLarge) and request.verb in _WRITES) or names_nothing:
        message = message.removeprefix(_UNNAMED)
        key = "/".join(part for part in (request.namespace, request.name or _name(request)) if part)
        message = f"cannot {request.verb.value} {f'{gvk.kind} {key}'.strip()}: {message}"
    error.args = ("; ".join([message, *added]),)


def _advice(error: ApiError, message: str, request: APIRequest, gvk: GroupVersionKind) -> Iterator[str]:
    options = request.options
    if isinstance(error, BadRequest):
        if options.label_selector:
            yield f"the label selector is {options.label_selector!r}"
        if options.field_selector:
            yield f"the field selector is {options.field_selector!r}"
    if request.verb not in _WRITES:
        return
    if isinstance(error, RequestTooLarge) or "Too long: may not be more than" in message:
        yield f"the request has {len(request.body):,} bytes: keep large data elsewhere, or in several objects"
    if "illegal base64 data" in message:
        yield from _not_base64(_document(request))
    for path, wanted in _wrong_fields(error, message):
        yield from wrong_value(_document(request), path, wanted, gvk)


def _wrong_fields(error: ApiError, message: str) -> Iterator[tuple[str, str]]:
    """The fields whose values have another type than the one that is wanted, each with that type."""
    for pattern in (_UNMARSHAL, _TYPED):
        if found := pattern.search(message):
            yield found["path"], found["type"]
    if isinstance(error, Invalid):
        for cause in error.causes:
            if "must be of type" in cause.message:
                yield cause.field, cause.message


def wrong_value(document: Any, path: str, wanted: str, gvk: GroupVersionKind) -> Iterator[str]:
    """The value at a path, and how to write it. The values of a Secret are not for logs."""
    value = _value_at(document, path)
    if value is _MISSING:
        return
    if gvk.kind == "Secret":
        if wanted == "string" and isinstance(value, int | float):
            yield f"{path} is a number: write it as text"
        return
    shown = msgspec.json.encode(value).decode()
    shown = shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"
    if isinstance(value, str) and _NAIVE.fullmatch(value):
        yield f"{path} is {shown}, which has no time zone: use an aware datetime, as in datetime.now(UTC)"
    elif wanted == "string" and isinstance(value, int | float):
        yield f'{path} is {shown}: write "{shown}"'
    else:
        yield f"{path} is {shown}"


def _not_base64(document: Any) -> Iterator[str]:
    data = document.get("data") if isinstance(document, dict) else None
    for key, value in (data if isinstance(data, dict) else {}).items():
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, TypeError, ValueError):
            yield f"data.{key} is not base64: put text into string_data (stringData), or give data bytes"


def _value_at(document: Any, path: str) -> Any:
    """The value at a path such as `spec.items[0].name`; `_MISSING` if there is none, as in a patch of operations."""
    value = document
    for step in _STEP.findall(path):
        key: Any = step.strip("[]")
        if isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return _MISSING
    return value


def _document(request: APIRequest) -> Any:
    try:
        return msgspec.json.decode(bytes(request.body))
    except (msgspec.DecodeError, ValueError):
        return None


def _name(request: APIRequest) -> str:
    document = _document(request)
    metadata = document.get("metadata") if isinstance(document, dict) else None
    return str(metadata.get("name") or "") if isinstance(metadata, dict) else ""
