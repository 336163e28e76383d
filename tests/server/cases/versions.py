"""Several versions of a kind, and schemas that change while objects exist."""

from __future__ import annotations

from typing import Any

from ..differential import DEFINITIONS, Saved, Scenario, get, patch, post, put
from .kinds import WIDGETS, definition, version, widget

WIDGET = f"{DEFINITIONS}/widgets.<group>"
ONE = f"{WIDGETS}/one"
OLD = "/apis/<group>/v1beta1/namespaces/<namespace>/widgets"


def with_spec(name: str, properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": properties}
    schema = {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}
    return version(name, schema={"openAPIV3Schema": schema}, **more)


NEW_VERSION = with_spec("v1", {"size": {"type": "integer"}, "shape": {"type": "string", "default": "round"}})
OLD_VERSION = with_spec(
    "v1beta1",
    {"size": {"type": "integer"}, "colour": {"type": "string", "default": "red"}},
    storage=False,
    deprecated=True,
)

SIZE = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"

VERSIONS = Scenario(
    "versions",
    [
        post("written in the new version", WIDGETS, widget(spec={"size": 1})),
        get("read in the old", OLD + "/one"),
        get("listed in the old", OLD),
        post(
            "written in the old version",
            OLD,
            widget("two", apiVersion="<group>/v1beta1", spec={"size": 1, "colour": "blue"}),
        ),
        get("read in the new", WIDGETS + "/two"),
        get("read in the old again", OLD + "/two"),
        patch("patched in the old", OLD + "/two", {"spec": {"size": 2}}),
        patch("patched in the new", WIDGETS + "/two", {"spec": {"size": 3}}),
        get("the old field", OLD + "/two"),
        get("watched in the old", OLD + "?watch=1&timeoutSeconds=1"),
        get("until the group has both versions", "/apis/<group>", until={"body.versions.1.version": "v1beta1"}),
        get("groups", "/apis/<group>"),
        post("the wrong version", OLD, widget("three")),
        get("the definition", WIDGET, save="made"),
        put(
            "the storage version changes",
            WIDGET,
            Saved(
                "made",
                {
                    "spec.versions.0.storage": False,
                    "spec.versions.0.additionalPrinterColumns": [SIZE],
                    "spec.versions.1.storage": True,
                },
            ),
            save="moved",
        ),
        # The column shows that the real server uses the new definition, which it reads from a cache.
        get("until the new definition is used", ONE, accept=TABLE, until={"body.columnDefinitions.1.name": "Size"}),
        get("stored versions", WIDGET),
        get("still readable", ONE),
        patch("a write of nothing", ONE, {"spec": {"size": 1}}),
        get("a version that was stored cannot go", WIDGET, save="now"),
        put("refused", WIDGET, Saved("now", {"spec.versions": [OLD_VERSION | {"storage": True}]})),
        put(
            "stored versions are the client's to prune",
            WIDGET + "/status",
            Saved("now", {"status.storedVersions": ["v1beta1"]}),
            save="pruned",
        ),
        put("an unknown stored version", WIDGET + "/status", Saved("pruned", {"status.storedVersions": ["v9"]})),
    ],
    [definition("widgets", "Widget", NEW_VERSION, OLD_VERSION)],
)

SCHEMA = "spec.versions.0.schema.openAPIV3Schema.properties.spec"

EVOLUTION = Scenario(
    "evolution",
    [
        post("by the first schema", WIDGETS, widget(spec={"size": 1, "colour": "red", "tags": ["a"]})),
        get("the definition", WIDGET, save="made"),
        put(
            "a field goes, one comes with a default, one becomes stricter",
            WIDGET,
            Saved(
                "made",
                {
                    SCHEMA: {
                        "type": "object",
                        "properties": {
                            "size": {"type": "integer", "minimum": 5},
                            "tags": {"type": "array", "items": {"type": "string"}},
                            "shape": {"type": "string", "default": "round"},
                        },
                    }
                },
            ),
        ),
        get("until it is read by the new schema", ONE, until={"body.spec.shape": "round"}),
        get("read by the new schema", ONE),
        patch("a patch of nothing writes the new form", ONE, {}),
        patch("and then nothing", ONE, {}),
        get("listed by the new schema", WIDGETS),
        patch("an invalid field that is unchanged does not matter", ONE, {"metadata": {"labels": {"a": "b"}}}),
        patch("another field can change", ONE, {"spec": {"tags": ["b"]}}),
        patch("but not to another invalid value", ONE, {"spec": {"size": 2}}),
        post("a new one must fit", WIDGETS, widget("two")),
        get("the definition again", WIDGET, save="made"),
        put("the field comes back", WIDGET, Saved("made", {SCHEMA + ".properties.colour": {"type": "string"}})),
        get("until served anew", WIDGETS, until={"status": 200}),
        get("what was dropped by a write is gone", ONE),
    ],
    [definition()],
)

CLUSTER_SCOPED = Scenario(
    "cluster-scoped",
    [
        post("create", "/apis/<group>/v1/widgets", widget("<namespace>")),
        get("read", "/apis/<group>/v1/widgets/<namespace>"),
        get("list", "/apis/<group>/v1/widgets"),
        get("in a namespace", "/apis/<group>/v1/namespaces/<namespace>/widgets"),
        post("created in a namespace", "/apis/<group>/v1/namespaces/<namespace>/widgets", widget()),
        post(
            "with a namespace in it",
            "/apis/<group>/v1/widgets?dryRun=All",
            widget(metadata={"name": "two", "namespace": "default"}),
        ),
        get("by namespace", "/apis/<group>/v1/widgets?fieldSelector=metadata.namespace%3Dx"),
        get("resources", "/apis/<group>/v1"),
        get("watched", "/apis/<group>/v1/widgets?watch=1&timeoutSeconds=1"),
    ],
    [definition(scope="Cluster")],
)
