"""Custom kinds with random definitions: schemas, versions, columns, subresources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

from pilotage.meta.documents import Document, copied

from ..kubernetes.mutations import mutated
from ..server.ownership import sequences
from . import rules, schemas
from .subjects import Subject

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
COLUMNS = (
    (".spec.replicas", "integer"),
    (".spec.size", "string"),
    (".spec.alpha", "string"),
    (".spec.beta", "number"),
    (".status.gamma", "boolean"),
    (".spec.gamma[0]", "integer"),
    (".metadata.creationTimestamp", "date"),
    (".metadata.labels", "string"),
    (".spec.delta", "date"),
)


def custom(chance: Random, group: str, number: int) -> Subject:
    """A kind with a random definition."""
    plural, kind = f"things{number}", f"Thing{number}"
    names = ["v1"] if chance.random() < 0.6 else ["v1", "v2"]
    storage = chance.choice(names)
    versions = [_version(chance, name) | {"storage": name == storage} for name in names]
    if len(versions) > 1 and chance.random() < 0.5:  # the same fields, with other rules
        versions[1]["schema"] = rules.with_rules(copied(versions[0]["schema"]), chance)
    cluster = chance.random() < 0.1
    spec: Document = {
        "group": group,
        "scope": "Cluster" if cluster else "Namespaced",
        "names": {"plural": plural, "kind": kind},
        "versions": versions,
    }
    if chance.random() < 0.2:
        spec["names"] |= {"shortNames": [f"t{number}"], "categories": ["all"], "singular": f"thing{number}"}
    definition = _definition(plural, group, spec)
    made = [_subject(group, version, plural, kind, not cluster) for version in versions]
    return replace(made[0], definition=definition, others=tuple(made[1:]))


def _definition(plural: str, group: str, spec: Document) -> Document:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": spec,
    }


def _version(chance: Random, name: str) -> Document:
    spec, status = schemas.properties(chance, 3), schemas.properties(chance, 2)
    spec["properties"]["replicas"] = {"type": "integer", "default": 1}
    fields = {"spec": spec, "status": status}
    schema: schemas.Schema = {"type": "object", "properties": fields}
    if chance.random() < 0.5:
        rules.with_rules(schema, chance)
    scale: Document = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.size"}
    if chance.random() < 0.3:
        scale["labelSelectorPath"] = ".status.alpha"
    subresources: Mapping[str, Any] = chance.choice([{}, {"status": {}}, {"status": {}, "scale": scale}])
    made: Document = {"name": name, "served": True, "schema": {"openAPIV3Schema": schema}, "subresources": subresources}
    if chance.random() < 0.4:
        made["additionalPrinterColumns"] = _columns(chance)
    if chance.random() < 0.3:
        made["selectableFields"] = [{"jsonPath": ".spec.replicas"}]
    if chance.random() < 0.1:
        made |= {"deprecated": True} | chance.choice([{}, {"deprecationWarning": "do not use it"}])
    return made


def _columns(chance: Random) -> list[Document]:
    made = []
    for number, (path, sort) in enumerate(chance.sample(COLUMNS, chance.randint(1, 4))):
        column: Document = {"name": f"C{number}", "type": sort, "jsonPath": path}
        if chance.random() < 0.2:
            column["priority"] = 1
        if chance.random() < 0.2:
            column["format"] = chance.choice(["int32", "name", "date-time"])
        made.append(column)
    return made


def _subject(group: str, version: Document, plural: str, kind: str, namespaced: bool) -> Subject:
    schema = version["schema"]["openAPIV3Schema"]
    return Subject(
        f"{group}/{version['name']}",
        kind,
        plural,
        partial(_valued, schema["properties"]),
        namespaced=namespaced,
        status="status" in version["subresources"],
        scale="scale" in version["subresources"],
        fields=("spec.replicas=1", "spec.replicas!=1", "spec.replicas=") if "selectableFields" in version else (),
    )


def _valued(fields: Mapping[str, schemas.Schema], chance: Random) -> Document:
    made: Document = {}
    if chance.random() < 0.95:
        made["spec"] = schemas.value(fields["spec"], chance)
    if chance.random() < 0.3:
        made["status"] = schemas.value(fields["status"], chance)
    return made


def owned_part(group: str) -> Subject:
    """The custom kind of the sequences about managed fields, which has every type of list and map."""
    kind = next(each for each in sequences.KINDS if each.api_version.startswith(sequences.GROUP))
    definition = json.loads(json.dumps(sequences.DEFINITION).replace(sequences.GROUP, group))
    first = Subject(f"{group}/v1", kind.name, kind.resource, kind.content, status=True, scale=True)
    return replace(first, definition=definition, others=(replace(first, api_version=f"{group}/v2"),))


def odd_definition(chance: Random) -> Document:
    """A definition for a dry run, often with one thing in it that is wrong."""
    subject = custom(chance, f"g{chance.randint(0, 999)}.example.com", 0)
    definition = dict(subject.definition or {})
    if chance.random() < 0.7:
        definition["spec"] = mutated({"spec": definition["spec"]}, chance).get("spec", {})
    return definition
