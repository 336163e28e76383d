"""CustomResourceDefinitions: conditions, names, refused and immutable fields, and deletion."""

from __future__ import annotations

import copy
from typing import Any

from ..differential import ABSENT, DEFINITIONS, Saved, Scenario, delete, get, patch, post, put, put_at
from .kinds import GROUP_VERSION, WIDGETS, definition, version, widget

WIDGET = f"{DEFINITIONS}/widgets.<group>"
GADGET = f"{DEFINITIONS}/gadgets.<group>"
ESTABLISHED = {"body.status.conditions.1.status": "True"}
REMAINING = ["delete", "deletecollection", "get", "list", "watch"]
"""The verbs of a kind whose definition is being deleted."""


def changed(changes: dict[str, Any], plural: str = "things", kind: str = "Thing") -> dict[str, Any]:
    document = copy.deepcopy(definition(plural, kind))
    for path, value in changes.items():
        put_at(document, path, value)
    return document


SCHEMA = "spec.versions.0.schema.openAPIV3Schema"

MISTAKES: list[tuple[str, dict[str, Any]]] = [
    ("a name that does not fit", {"metadata.name": "others.<group>"}),
    ("no schema", {"spec.versions.0.schema": ABSENT}),
    ("two storage versions", {"spec.versions": [version(), version("v2")]}),
    ("no storage version", {"spec.versions.0.storage": False}),
    ("an unknown scope", {"spec.scope": "Planet"}),
    ("a group without a dot", {"spec.group": "demo", "metadata.name": "things.demo"}),
    ("a protected group", {"spec.group": "x.k8s.io", "metadata.name": "things.x.k8s.io"}),
    ("an empty spec", {"spec": {}}),
    ("no versions", {"spec.versions": []}),
    ("a version twice", {"spec.versions": [version(), version(storage=False)]}),
    ("a bad version name", {"spec.versions": [version("V_1")]}),
    ("a root that is no object", {SCHEMA: {"type": "string"}}),
    ("a property without a type", {f"{SCHEMA}.properties.spec": {}}),
    ("an array without items", {f"{SCHEMA}.properties.spec": {"type": "array"}}),
    ("a reference", {f"{SCHEMA}.properties.spec": {"$ref": "#/definitions/x"}}),
    ("a bad pattern", {f"{SCHEMA}.properties.spec.properties.mode": {"type": "string", "pattern": "("}}),
    ("a bad default", {f"{SCHEMA}.properties.spec.properties.size.default": "x"}),
    ("a bad plural", {"spec.names.plural": "Things", "metadata.name": "Things.<group>"}),
    ("no kind", {"spec.names.kind": ""}),
    ("a bad kind", {"spec.names.kind": "a_b"}),
    ("a bad short name", {"spec.names.shortNames": ["A"]}),
    ("an unknown conversion", {"spec.conversion": {"strategy": "Magic"}}),
    ("preserved unknown fields", {"spec.preserveUnknownFields": True}),
    (
        "a selectable field that is not there",
        {"spec.versions.0.selectableFields": [{"jsonPath": ".spec.nope"}]},
    ),
    (
        "a column without a path",
        {"spec.versions.0.additionalPrinterColumns": [{"name": "A", "type": "string"}]},
    ),
    (
        "a column of an unknown type",
        {"spec.versions.0.additionalPrinterColumns": [{"name": "A", "type": "thing", "jsonPath": ".spec"}]},
    ),
    ("a scale without paths", {"spec.versions.0.subresources": {"scale": {}}}),
    ("a field of a wrong type", {"spec.versions.0.served": "yes"}),
]

INVALID_DEFINITIONS = Scenario(
    "invalid-definitions",
    [post(what, DEFINITIONS, changed(changes)) for what, changes in MISTAKES]
    + [post("an unknown field", DEFINITIONS + "?fieldValidation=Strict", changed({"spec.bogus": 1}))],
)

LIFE = Scenario(
    "definition-life",
    [
        post("create, by dry run", DEFINITIONS + "?dryRun=All", definition()),
        post("create", DEFINITIONS, definition(), until={"status": 201}),
        get("until established", WIDGET, until=ESTABLISHED),
        get("established", WIDGET, save="made"),
        post("it exists", DEFINITIONS, definition()),
        put("no version", WIDGET, Saved("made", {"metadata.resourceVersion": ""})),
        put("another scope", WIDGET, Saved("made", {"spec.scope": "Cluster"})),
        put("another kind", WIDGET, Saved("made", {"spec.names.kind": "Gizmo"})),
        put("another plural", WIDGET, Saved("made", {"spec.names.plural": "gizmos"})),
        put("another group", WIDGET, Saved("made", {"spec.group": "other.example.com"})),
        put("status cannot be written here", WIDGET + "?dryRun=All", Saved("made", {"status": {}})),
        get("until served", WIDGETS, until={"status": 200}),
        post("an object", WIDGETS, widget()),
        post("a held object", WIDGETS, widget(metadata={"name": "held", "finalizers": ["x.example.com/hold"]})),
        delete("by dry run", WIDGET + "?dryRun=All"),
        delete("delete", WIDGET),
        get(
            "until the objects are deleted",
            WIDGETS,
            until={"body.items.0.metadata.deletionGracePeriodSeconds": 0, "body.items.1": ABSENT},
        ),
        get("terminating", WIDGET),
        post("nothing can be created", WIDGETS, widget("more")),
        get(
            "until the group's verbs are those that are left",
            GROUP_VERSION,
            until={"body.resources.0.verbs": REMAINING},
        ),
        get("the group's verbs", GROUP_VERSION),
        patch("the held one goes", WIDGETS + "/held", {"metadata": {"finalizers": []}}),
        get("until it is gone", WIDGET, until={"status": 404}),
        get("gone", WIDGET),
        get("until nothing is served", WIDGETS, until={"status": 404}),
        get("nothing is served", WIDGETS),
    ],
)

NAME_CONFLICTS = Scenario(
    "name-conflicts",
    [
        post(
            "first",
            DEFINITIONS,
            definition(names={"plural": "widgets", "kind": "Widget", "shortNames": ["wd"], "categories": ["all"]}),
            until={"status": 201},
        ),
        get("established", WIDGET, until=ESTABLISHED),
        get("its names", WIDGET),
        *[
            step
            for plural, names in [
                ("gadgets", {"plural": "gadgets", "kind": "Widget"}),
                ("gizmos", {"plural": "gizmos", "kind": "Gizmo", "singular": "widget"}),
                ("doodads", {"plural": "doodads", "kind": "Doodad", "shortNames": ["dd", "wd"]}),
                ("thingies", {"plural": "thingies", "kind": "Thingy", "listKind": "WidgetList"}),
                ("wholes", {"plural": "wholes", "kind": "Widget", "singular": "widget", "shortNames": ["wd"]}),
            ]
            for step in [
                post(plural, DEFINITIONS, definition(plural, "X", names=names), until={"status": 201}),
                get(
                    f"{plural} decided",
                    f"{DEFINITIONS}/{plural}.<group>",
                    until={"body.status.conditions.0.status": "False"},
                ),
                get(f"{plural}' conditions", f"{DEFINITIONS}/{plural}.<group>"),
                get(f"{plural} are not served", f"{GROUP_VERSION}/{plural}"),
            ]
        ],
    ],
)

FREED_NAMES = Scenario(
    "freed-names",
    [
        post("first", DEFINITIONS, definition(), until={"status": 201}),
        get("established", WIDGET, until=ESTABLISHED),
        post("second", DEFINITIONS, definition("gadgets", "Widget"), until={"status": 201}),
        get("decided", GADGET, until={"body.status.conditions.0.status": "False"}),
        get("not accepted", GADGET),
        delete("the first goes", WIDGET, until={"status": 200}),
        get("until gone", WIDGET, until={"status": 404}),
        get("the second gets its names", GADGET, until=ESTABLISHED),
        get("which are now", GADGET),
    ],
)
