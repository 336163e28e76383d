"""Conversions that lose nothing: what a version cannot express is kept in an annotation, and restored later.

The annotation has the object as it was before the conversion. On the way back, each field that the conversion alone
explains gets its old value; a field that was changed in the meantime keeps its new one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from pilotage.meta.documents import Document

PREFIX = "conversion.pilotage.dev/"
"""The annotation has the version of the saved object after this prefix."""

MAX_SAVED_BYTES = 128 * 1024
"""An annotation that is larger is refused: all annotations of an object may have 256 KiB."""

_ABSENT: Any = object()


class TooLargeToSave(ValueError):
    """The lost part of an object does not fit into an annotation."""


def with_saved(
    document: Document, forward: Callable[[Document], Document], back: Callable[[Document], Document]
) -> Document:
    """The converted document, with what the other version cannot express restored, or saved for the way back."""
    plain = without_saved(document)
    converted = forward(plain)
    saved = _saved(document, converted["apiVersion"])
    if saved is not None:
        converted = _restored(converted, saved, forward, back)
    if _content(back(converted)) != _content(plain):
        _save(converted, plain)
    return converted


def _restored(
    converted: Document, saved: Document, forward: Callable[[Document], Document], back: Callable[[Document], Document]
) -> Document:
    try:
        # What `forward` makes of the saved object alone is not a change: there the saved value is right.
        base = _content(forward(back(_header(converted) | saved)))
    except Exception:  # an annotation that was written by hand: the functions may raise anything for it
        return converted
    content: Document = restored(base, _content(converted), saved)
    return _header(converted) | content


def restored(base: Any, new: Any, saved: Any) -> Any:
    """`new`, with the values of `saved` in each place that did not change since `base`. An absent value is one, too."""
    if new == base:
        return saved
    if all(isinstance(value, dict) for value in (base, new, saved)):
        keys = [*saved, *(key for key in new if key not in saved)]
        merged = {key: restored(*(value.get(key, _ABSENT) for value in (base, new, saved))) for key in keys}
        return {key: value for key, value in merged.items() if value is not _ABSENT}
    if all(isinstance(value, list) for value in (base, new, saved)) and len(base) == len(new) == len(saved):
        return [restored(*items) for items in zip(base, new, saved, strict=True)]
    return new


def without_saved(document: Document) -> Document:
    """The document without annotations of this module; the same document if it has no such annotation."""
    annotations = document.get("metadata", {}).get("annotations") or {}
    kept = {key: value for key, value in annotations.items() if not key.startswith(PREFIX)}
    if len(kept) == len(annotations):
        return document
    metadata = {key: value for key, value in document["metadata"].items() if key != "annotations"}
    return document | {"metadata": metadata | ({"annotations": kept} if kept else {})}


def _saved(document: Document, api_version: str) -> Document | None:
    text = (document.get("metadata", {}).get("annotations") or {}).get(_annotation(api_version))
    if text is None:
        return None
    try:
        found: Document = msgspec.json.decode(text, type=dict)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None  # written by hand: the object is converted without it
    return found


def _save(converted: Document, source: Document) -> None:
    data = msgspec.json.encode(_content(source), order="sorted")
    if len(data) > MAX_SAVED_BYTES:
        name = converted["metadata"].get("name", "")
        raise TooLargeToSave(
            f"{converted['kind']} {name} cannot be converted from {source['apiVersion']} to {converted['apiVersion']} "
            f"without a loss: what would be kept in an annotation has {len(data)} bytes, more than {MAX_SAVED_BYTES}"
        )
    annotations = converted["metadata"].get("annotations") or {}
    converted["metadata"] = converted["metadata"] | {
        "annotations": annotations | {_annotation(source["apiVersion"]): data.decode()}
    }


def _annotation(api_version: str) -> str:
    return PREFIX + api_version.rpartition("/")[2]


def _header(document: Document) -> Document:
    return {key: document[key] for key in ("apiVersion", "kind", "metadata")}


def _content(document: Document) -> Document:
    return {key: value for key, value in document.items() if key not in ("apiVersion", "kind", "metadata")}
