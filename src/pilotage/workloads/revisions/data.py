"""What a ControllerRevision stores: a patch with the template, in the bytes that Go writes, because they are hashed."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from pilotage.codec.defaults.pods import default_pod_template
from pilotage.codec.structure import structure
from pilotage.meta.documents import Document, make_whole
from pilotage.meta.objects import document_of
from pilotage.meta.scalars.hooks import dec_hook
from pilotage.types.apps.v1 import ControllerRevision, DaemonSet, StatefulSet
from pilotage.types.core.v1 import PodTemplateSpec
from pilotage.workloads.templates.hashes import safe_encoded

Owner = StatefulSet | DaemonSet
"""The kinds whose templates have a history."""

LONGEST_PREFIX = 223
_EXACT = 2**53
_TEMPLATE = "io.k8s.api.core.v1.PodTemplateSpec"
_MANY_DIGITS = re.compile(rb"\d{16}")
_ESCAPED = re.compile(rb"[<>&\x7f]|\xe2\x80[\xa8\xa9]")
_ESCAPES = {
    b"<": rb"\u003c",
    b">": rb"\u003e",
    b"&": rb"\u0026",
    b"\x7f": b"\x7f",
    b"\xe2\x80\xa8": rb"\u2028",
    b"\xe2\x80\xa9": rb"\u2029",
}
_FNV_OFFSET, _FNV_PRIME, _32_BITS = 2166136261, 16777619, 2**32 - 1


def data_of(owner: Owner) -> bytes:
    """The data of a revision with the template of `owner`."""
    return _data(template_document(owner), exact=isinstance(owner, DaemonSet))


def template_document(owner: Owner) -> Document:
    """The template of `owner`, as the API server stores it."""
    return _go_form(document_of(owner)["spec"]["template"])


def stored_data(revision: ControllerRevision) -> bytes:
    """The data of a stored revision, as Go writes it."""
    return _go_json(revision.data)


def defaulted_data(revision: ControllerRevision) -> bytes:
    """The data of a revision as the current release writes it: with its defaults, and encoded again.

    A release may add a default, or no longer write a field that it used to: that alone is no other template.
    """
    template = structure(_TEMPLATE).decode(_template(revision), [])
    default_pod_template(template)
    return _data(_go_form(template), exact=False)


def template_of(revision: ControllerRevision) -> PodTemplateSpec:
    """The template that a revision stores."""
    return msgspec.convert(_template(revision), PodTemplateSpec, dec_hook=dec_hook)


def revision_hash(data: bytes, collision_count: int | None = None) -> str:
    """The hash of a revision, FNV-1 of 32 bits, in letters and digits that make no words."""
    found = _FNV_OFFSET
    for byte in data + (b"" if collision_count is None else str(collision_count).encode()):
        found = (found * _FNV_PRIME & _32_BITS) ^ byte
    return safe_encoded(str(found))


def revision_name(owner: str, hashed: str) -> str:
    return f"{owner[:LONGEST_PREFIX]}-{hashed}"


def _template(revision: ControllerRevision) -> Document:
    patch: Document = revision.data["spec"]["template"]
    return {key: value for key, value in patch.items() if key != "$patch"}


def _go_form(template: Document) -> Document:
    form = structure(_TEMPLATE).decode(template, [])
    structure(_TEMPLATE).encode(form)
    return form


def _data(template: Document, *, exact: bool) -> bytes:
    patch = {"$patch": "replace"} | template
    data = _go_json({"spec": {"template": patch}})
    if exact or not _MANY_DIGITS.search(data):
        return data
    patch = _with_floats(patch)
    make_whole(patch)
    return _go_json({"spec": {"template": patch}})


def _go_json(document: Any) -> bytes:
    """A map as Go's encoding/json writes it: sorted by key, without signs of HTML."""
    data = msgspec.json.encode(document, order="sorted")
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], data)


def _with_floats(value: Any) -> Any:
    """The integers that a float cannot hold become the nearest floats."""
    if isinstance(value, dict):
        return {key: _with_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_floats(item) for item in value]
    return float(value) if type(value) is int and abs(value) > _EXACT else value
