"""Names in the group resource.k8s.io: of requests, pools, attributes and shares of devices."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks import texts

RequestNames = Mapping[str, Set[str]]
"""The requests of a claim, each with its alternatives."""
_MAX_IDENTIFIER = 32
_MAX_POOL = 253
_is_identifier = re.compile("[A-Za-z_][A-Za-z0-9_]*").fullmatch
_is_uid = re.compile("[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}").fullmatch
_IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is "
    "'[A-Za-z_][A-Za-z0-9_]*')"
)
_NO_REQUEST = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
_NORMALIZED = (
    "uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal "
    "characters"
)


def request_names(devices: Document) -> RequestNames:
    """The names that constraints, configurations and results of a claim can refer to."""
    return {
        request.get("name") or "": {each.get("name") or "" for each in request.get("firstAvailable") or ()}
        for request in devices.get("requests") or ()
    }


def validate_request_reference(name: str, path: str, known: RequestNames) -> Iterator[Cause]:
    """The name of a request, or of a request and one of its alternatives."""
    parts = name.split("/")
    if len(parts) > 2:
        yield invalid(path, name, _NO_REQUEST)
        return
    for part in parts:
        yield from texts.text(part, path, dns_1123_label)
    if parts[0] not in known or (len(parts) > 1 and parts[1] not in known[parts[0]]):
        yield invalid(path, name, _NO_REQUEST)


def validate_pool_name(name: str, path: str) -> Iterator[Cause]:
    """One or more subdomains, separated by slashes."""
    if not name:
        yield required(path)
        return
    yield from texts.length(name, path, _MAX_POOL)
    for part in name.split("/"):
        yield from texts.text(part, path)


def validate_share(uid: str, path: str) -> Iterator[Cause]:
    """The identifier of a share of a device."""
    if len(uid) != 36:
        yield invalid(path, uid, f"error validating uid: invalid UUID length: {len(uid)}")
    elif not _is_uid(uid):
        yield invalid(path, uid, "error validating uid: invalid UUID format")
    elif uid != uid.lower():
        yield invalid(path, uid, _NORMALIZED)


def validate_attribute_name(name: str, path: str, *, full: bool = True) -> Iterator[Cause]:
    """The name of an attribute with its domain: `example.com/numa`. Unless it is `full`, the domain can be left out."""
    parts = name.split("/")
    if len(parts) == 1:
        yield from _validate_identifier(name, path)
        if full:
            yield invalid(path, name, "a fully qualified name must be a domain and a name separated by a slash")
    elif len(parts) == 2:
        domain, own = parts
        if domain:
            yield from texts.driver_name(domain, path)
        else:
            yield invalid(path, "", "the domain must not be empty")
        if own:
            yield from _validate_identifier(own, path)
        else:
            yield invalid(path, "", "the name must not be empty")


def _validate_identifier(name: str, path: str) -> Iterator[Cause]:
    yield from texts.length(name, path, _MAX_IDENTIFIER)
    if not _is_identifier(name):
        yield invalid(path, name, _IDENTIFIER)
