"""Edits of objects that are generated from the schema of their kind: each is valid, and changes one field."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from pilotage.errors import InvalidDefinition
from pilotage.meta.documents import Document, copied
from pilotage.meta.models import Resource
from pilotage.meta.values import Value
from pilotage.schema.generate.crd import crd
from pilotage.schema.structural.schema import StructuralSchema
from pilotage.testing.documents import Documents

_MOST_DEPTH = 6
_FORMS = ("1", "1Gi", "1.0.0", "v1", "10s", "10.0.0.1", "example.com")
"""Texts for fields with a pattern that no word has."""
_WORDS = ("alpha", "beta", "gamma", "delta", "omega")


class Edit(Value, frozen=True):
    """A change of one field of a spec."""

    path: str
    """`spec.replicas`."""
    old: Any
    new: Any
    """None: the field is removed."""
    patch: Document
    """The merge patch that makes the change."""

    def __str__(self) -> str:
        return f"{self.path}: {self.old!r} → {self.new!r}"


class Edits(Value, frozen=True):
    """An object of a kind, and valid edits of it, each of which is made after the one before."""

    first: Document
    edits: tuple[Edit, ...]


def edits(
    kind: type[Resource], *, sample: Document | None = None, count: int = 6, seed: int = 0, name: str = "chaos"
) -> Edits:
    """An object of a kind and `count` edits of its spec, generated from its schema by the seed.

    `sample` is a valid object to begin with; without it, one is generated. Fields are changed to other values that the
    schema allows, removed where they are optional, and set back. Raises InvalidDefinition where no valid object can be
    generated: then give a sample.
    """
    random = Random(seed)  # noqa: S311 - inputs of a test that can be repeated
    definition = crd(kind)
    schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    first = copied(sample) if sample is not None else _generated(kind, definition, schema, random, name)
    return Edits(first, tuple(_sequence(first, schema, random, count)))


def _generated(kind: type[Resource], definition: Document, schema: Document, random: Random, name: str) -> Document:
    metadata = {"name": name} | ({"namespace": "default"} if definition["spec"]["scope"] == "Namespaced" else {})
    names = definition["spec"]["names"]
    version = f"{definition['spec']['group']}/{definition['spec']['versions'][0]['name']}"
    spec = schema.get("properties", {}).get("spec", {})
    for _ in range(20):
        document = {"apiVersion": version, "kind": names["kind"], "metadata": metadata}
        if spec:
            document["spec"] = _Plain(random).value(spec, "spec")
        if _is_valid(document, schema):
            return document
    raise InvalidDefinition(
        f"no valid {kind.__name__} can be generated from its schema: give one, as edits({kind.__name__}, sample=…)"
    )


def _sequence(first: Document, schema: Document, random: Random, count: int) -> Iterator[Edit]:
    """Edits of one document after the other; every third one goes back to what was there before."""
    current, last, used = copied(first), None, set[str]()
    for number in range(count):
        if last is not None and number % 3 == 2:
            edit = Edit(last.path, last.new, last.old, _merge_patch(last.path, last.old))
        else:
            candidates = [*_candidates(current, schema, random)]
            if not candidates:
                return
            edit = random.choice([one for one in candidates if one.path not in used] or candidates)
            used.add(edit.path)
        current = _applied(current, edit)
        yield edit
        last = edit


def _candidates(document: Document, schema: Document, random: Random) -> Iterator[Edit]:
    """All edits of one field that lead to a valid document."""
    spec = schema.get("properties", {}).get("spec")
    if spec is None:
        return
    for path, below, required in _fields(spec, ("spec",)):
        if document.get("spec") is None or not _has_parent(document, path):
            continue
        old = _value_at(document, path)
        for new in _others(old, below, required, random):
            text = ".".join(path)
            edit = Edit(text, old, new, _merge_patch(text, new))
            if _is_valid(_applied(document, edit), schema):
                yield edit


def _fields(schema: Document, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Document, bool]]:
    """The fields of objects that are not in lists: of these a patch needs the whole."""
    required = schema.get("required", ())
    for name, below in schema.get("properties", {}).items():
        yield (*path, name), below, name in required
        if below.get("type") == "object" and len(path) < _MOST_DEPTH and "." not in name:
            yield from _fields(below, (*path, name))


def _others(old: Any, schema: Document, required: bool, random: Random) -> Iterator[Any]:
    """Other values of a field."""
    if old is not None and not required and "default" not in schema:
        yield None
    if isinstance(old, list) and len(old) > schema.get("minItems", 0):
        yield old[:-1]
    if isinstance(old, bool) or schema.get("type") == "boolean":
        yield not old
    elif isinstance(old, int):
        yield from (new for new in (old + 1, old - 1) if new != old)
    elif schema.get("enum"):
        yield from (each for each in schema["enum"] if each != old)
    elif schema.get("type") in ("string", "integer", "number"):
        try:
            new = _Plain(random).value(schema)
        except InvalidDefinition:
            return  # a pattern: only the author knows other values
        if new != old:
            yield new


class _Plain(Documents):
    """Values without odd texts: an edit is for the program, not for its parsers."""

    def _text(self, schema: Document, path: str) -> str:
        if "pattern" in schema:
            found = [word for word in (*_WORDS, *_FORMS) if re.search(schema["pattern"], word)]
            if found:
                return self._random.choice(found)
        if "pattern" in schema or "format" in schema:
            return super()._text(schema, path)
        word = self._random.choice(_WORDS)
        least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 1000))
        return (word * (least // len(word) + 1))[:most]

    def _integer(self, schema: Document) -> int:
        least = max(int(schema.get("minimum", 1)), -5)
        return self._random.randint(least, min(int(schema.get("maximum", least + 5)), least + 5))


def _is_valid(document: Document, schema: Document) -> bool:
    structural = StructuralSchema.shared(schema)
    complete = copied(document)
    structural.default(complete)
    return not structural.validate(complete)


def _applied(document: Document, edit: Edit) -> Document:
    changed: Document = copied(document)
    parent = changed
    *path, name = edit.path.split(".")
    for step in path:
        parent = parent.setdefault(step, {})
    if edit.new is None:
        parent.pop(name, None)
    else:
        parent[name] = copied(edit.new) if isinstance(edit.new, dict | list) else edit.new
    return changed


def _merge_patch(path: str, new: Any) -> Document:
    patch: Any = new
    for step in reversed(path.split(".")):
        patch = {step: patch}
    found: Document = patch
    return found


def _has_parent(document: Document, path: Sequence[str]) -> bool:
    return isinstance(_value_at(document, path[:-1]), dict)


def _value_at(document: Document, path: Sequence[str]) -> Any:
    value: Any = document
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value
