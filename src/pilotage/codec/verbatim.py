"""Free-form JSON in immutable fields. kube-apiserver compares its text, so another blank or another order is a change.

A `Verbatim` is such a value with its text: as a client has sent it, or after a patch. The text is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import msgspec

from pilotage.meta.documents import Document

Steps = tuple[str, ...]
ITEMS = "*"
_CONFIGURATION = ("devices", "config", ITEMS, "opaque", "parameters")
_PATHS: dict[tuple[str, str], tuple[Steps, ...]] = {
    ("apps/v1", "ControllerRevision"): (("data",),),
    ("resource.k8s.io/v1", "ResourceClaim"): (("spec", *_CONFIGURATION), ("status", "allocation", *_CONFIGURATION)),
    ("resource.k8s.io/v1", "ResourceClaimTemplate"): (("spec", "spec", *_CONFIGURATION),),
}


class Verbatim(dict[str, Any]):
    """A free-form object with its text."""

    __slots__ = ("text",)

    def __init__(self, value: dict[str, Any], text: bytes) -> None:
        super().__init__(value)
        self.text = text


def paths_of(api_version: str, kind: str) -> tuple[Steps, ...]:
    """The paths of immutable free-form JSON in objects of a kind; most kinds have no such path."""
    return _PATHS.get((api_version, kind), ())


def keep_texts(document: Document, paths: tuple[Steps, ...], data: bytes) -> None:
    """Keep the texts that free-form values of a document have in the JSON that it was decoded from, in place."""
    for steps in paths:
        try:
            found = msgspec.json.decode(data, type=_type(steps))
        except (msgspec.MsgspecError, RecursionError):
            continue  # parts around it have wrong types: the codec reports them
        texts = iter([bytes(text) for text in _texts(found, steps)])
        _replace(document, steps, lambda value, texts=texts: Verbatim(value, next(texts)))  # type: ignore[misc]


def write_texts(document: Document, paths: tuple[Steps, ...], *, ordered: bool) -> None:
    """Give the free-form values of a document the text that Go writes, in place: with `ordered`, by a map's keys."""
    for steps in paths:
        _replace(document, steps, lambda value: Verbatim(value, _go_text(value, ordered=ordered)))


def same_texts(new: Any, old: Any) -> bool:
    """Whether two equal values have equal texts wherever they have free-form parts."""
    if isinstance(new, Verbatim) and isinstance(old, Verbatim):
        return new.text == old.text
    if isinstance(new, dict) and isinstance(old, dict):
        return all(same_texts(value, old.get(key)) for key, value in new.items())
    if isinstance(new, list) and isinstance(old, list):
        return all(map(same_texts, new, old))
    return True


def with_texts(document: Document, paths: tuple[Steps, ...]) -> Document:
    """A document to encode, in which free-form values are their texts."""
    for steps in paths:
        document = _changed(document, steps)
    return document


def _replace(value: Any, steps: Steps, make: Callable[[dict[str, Any]], Any]) -> None:
    """Replace each object at a path; a text that belongs to anything else is skipped, too."""
    step, rest = steps[0], steps[1:]
    if step == ITEMS:
        for item in value if isinstance(value, list) else ():
            _replace(item, rest, make)
    elif isinstance(value, dict) and step in value:
        if rest:
            _replace(value[step], rest, make)
        elif isinstance(value[step], dict):
            value[step] = make(value[step])


def _changed(value: Any, steps: Steps) -> Any:
    if not steps:
        return msgspec.Raw(value.text) if isinstance(value, Verbatim) else value
    if steps[0] == ITEMS:
        return [_changed(item, steps[1:]) for item in value] if isinstance(value, list) else value
    if not isinstance(value, dict) or steps[0] not in value:
        return value
    return value | {steps[0]: _changed(value[steps[0]], steps[1:])}


@cache
def _type(steps: Steps) -> Any:
    """The type that decodes just the text at a path."""
    if not steps:
        return msgspec.Raw
    if steps[0] == ITEMS:
        return list[_type(steps[1:])]  # type: ignore[misc]
    inner = _type(steps[1:])
    if inner is msgspec.Raw:
        return msgspec.defstruct("Object", [("found", inner, msgspec.Raw())], rename={"found": steps[0]})
    return msgspec.defstruct("Object", [("found", inner | None, None)], rename={"found": steps[0]})


def _texts(found: Any, steps: Steps) -> Iterator[msgspec.Raw]:
    if found is None:
        return
    if not steps:
        if bytes(found).startswith(b"{"):
            yield found
    elif steps[0] == ITEMS:
        for item in found:
            yield from _texts(item, steps[1:])
    else:
        yield from _texts(found.found, steps[1:])


def _go_text(value: dict[str, Any], *, ordered: bool) -> bytes:
    return msgspec.json.encode(_whole(value), order="sorted") if ordered else msgspec.json.encode(value)


def _whole(value: Any) -> Any:
    """With whole floats as integers: what Go writes for the numbers in a map."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e21 else value
