"""Random documents of the right types, for every built-in kind: each is accepted or refused, none is a crash."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from pilotage.errors import ApiError
from pilotage.kubernetes.assembly import cluster_context
from pilotage.meta.documents import Document, copied
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.request import APIRequest, Verb, WriteOptions
from pilotage.server.registry import Registry
from pilotage.storage.memory import MemoryStorage
from pilotage.types import builtin
from tests.server.recordings.cases import load_bases
from tests.server.recordings.replay import NAMESPACE, Replay

SEEDS = 6
CHANGES = 9
"""An object has up to so many changes at once."""
CODES = (200, 201, 400, 403, 404, 409, 422)
DEPTH = 9
TEXTS = (
    "",
    "a",
    "A b",
    "a.example/b",
    "1",
    "10.0.0.1",
    "10.0.0.0/8",
    "::1",
    "*",
    "-",
    "/x",
    "..",
    "x" * 300,
    "ä\x00",
    "50%",
)
NUMBERS = (0, 1, -1, 7, 80, 65536, 2**31 - 1)
SCALARS: dict[str, tuple[Any, ...]] = {
    "Time": ("2020-01-02T03:04:05Z", "9999-12-31T23:59:59Z"),
    "MicroTime": ("2020-01-02T03:04:05.000006Z",),
    "Quantity": ("1", "-1", "1Gi", "100m", "1e30", "0", 3),
    "IntOrString": (0, 5, -1, "", "50%", "150%", "http"),
    "RawExtension": ({}, {"a": 1}, []),
    "FieldsV1": ({}, {"f:a": {}}),
    "JSON": (None, 1, "x", {}),
    "JSONSchemaPropsOrBool": (True, {}, {"type": "string"}),
    "JSONSchemaPropsOrArray": ({}, {"type": "object"}),
    "JSONSchemaPropsOrStringArray": ([], ["a"], {}),
}
MAPPINGS = [each for each in builtin.resources() if {"create", "update"} <= set(each.verbs)]


class Documents:
    """Makes documents by their schemas."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def of(self, mapping: RESTMapping) -> Document:
        name = builtin.definition_name(mapping.gvk)
        assert name is not None
        document: Document = self._definition(name, DEPTH)
        document |= {"apiVersion": mapping.gvk.api_version, "kind": mapping.gvk.kind}
        document["metadata"] = {"name": self._chance.choice(("one", "v1.a.example", "as.a.example"))}
        return document

    def _definition(self, name: str, depth: int) -> Any:
        known = SCALARS.get(name.rpartition(".")[2])
        if known is not None:
            return self._chance.choice(known)
        properties = builtin.definition(name).get("properties", {})
        likely = 0.8 if depth > DEPTH - 2 else 0.45
        return {
            key: self._value(schema, depth - 1)
            for key, schema in properties.items()
            if depth > 0 and self._chance.random() < likely
        }

    def _value(self, schema: Document, depth: int) -> Any:
        chance = self._chance
        reference = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ())), "")
        if reference:
            return self._definition(reference.removeprefix(builtin.REFERENCE), depth)
        if schema["type"] == "array":
            return [self._value(schema["items"], depth) for _ in range(chance.randrange(3))]
        if schema["type"] == "object":
            inner = schema["additionalProperties"]
            return {chance.choice(("a", "cpu", "memory", "A b")): self._value(inner, depth) for _ in range(2)}
        if schema["type"] == "string":
            if schema.get("format") == "byte":
                return chance.choice(("", "eA==", "LS0tLS1CRUdJTg=="))
            return chance.choice((*schema.get("enum", ()), *TEXTS))
        return chance.choice((True, False)) if schema["type"] == "boolean" else chance.choice(NUMBERS)

    def changed(self, mapping: RESTMapping, document: Document, count: int) -> Document:
        """A copy of a document with some random values in random places, and some without theirs."""
        name = builtin.definition_name(mapping.gvk)
        assert name is not None
        result: Document = copied(document)
        for _ in range(count):
            self._change(result, name, DEPTH)
        return result | {key: document[key] for key in ("apiVersion", "kind", "metadata")}

    def _change(self, document: Document, name: str, depth: int) -> None:
        chance, properties = self._chance, builtin.definition(name).get("properties", {})
        if not properties:
            return
        key = chance.choice(list(document.keys() & properties.keys()) or list(properties))
        inside = self._inside(document.get(key), properties[key])
        if inside is not None and chance.random() < 0.8:
            self._change(*inside, depth - 1)
        elif chance.random() < 0.3:
            document.pop(key, None)
        else:
            key = chance.choice(list(properties))
            document[key] = self._value(properties[key], min(depth, 3))

    def _inside(self, value: Any, schema: Document) -> tuple[Document, str] | None:
        """A structure in a field, and its definition."""
        while schema.get("type") in ("array", "object") and value and isinstance(value, list | dict):
            value = self._chance.choice(value if isinstance(value, list) else list(value.values()))
            schema = schema.get("items") or schema.get("additionalProperties") or {}
        reference = schema.get("$ref") or next((part["$ref"] for part in schema.get("allOf", ())), "")
        name = reference.removeprefix(builtin.REFERENCE)
        known = name and name.rpartition(".")[2] not in SCALARS
        return (value, name) if known and isinstance(value, dict) else None


async def answer(registry: Registry, request: APIRequest) -> int:
    """The code of an answer. Whatever else is raised is a crash."""
    try:
        return (await registry.call(request)).code
    except ApiError as error:
        return error.status.code


async def test_random_documents_are_accepted_or_refused() -> None:
    async with Registry(cluster_context(MemoryStorage())) as registry:
        for mapping in MAPPINGS:
            base = APIRequest(Verb.CREATE, mapping.resource, namespace="default" if mapping.namespaced else "")
            for seed in range(SEEDS):
                body = msgspec.json.encode(Documents(seed).of(mapping))
                assert await answer(registry, replace(base, body=body)) in CODES


@pytest.mark.parametrize("subresource", ["", "status"])
async def test_objects_with_random_changes_are_accepted_or_refused(subresource: str) -> None:
    playing = Replay(bases := load_bases(), lambda case, aspect, lines: None)
    await playing.start()
    mappings = {(each.gvk.group, each.gvk.version, each.gvk.kind): each for each in MAPPINGS}
    for name, base in bases.items():
        mapping = mappings.get((base["group"], base["version"], base["kind"]))
        if mapping is None or "live" not in base or (subresource and subresource not in mapping.subresources):
            continue
        documents = Documents(len(name))
        request = APIRequest(
            Verb.UPDATE,
            mapping.resource,
            namespace=NAMESPACE if mapping.namespaced else "",
            name=base["live"]["metadata"]["name"],
            subresource=subresource,
            write=WriteOptions(dry_run=True),
        )
        for count in range(1, CHANGES):
            body = msgspec.json.encode(documents.changed(mapping, base["live"], count))
            assert await answer(playing.filled, replace(request, body=body)) in CODES
            if not subresource:
                create = replace(request, verb=Verb.CREATE, name="", body=body)
                assert await answer(playing.empty, create) in CODES
