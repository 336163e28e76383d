"""Create: what the server fills in, and what it refuses."""

from __future__ import annotations

from ..differential import YAML, Scenario, patch, post
from .kinds import CONFIG_MAPS, GROUP_VERSION, WIDGETS, definition, widget

OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1"}
DRY = "?dryRun=All"

CREATING = Scenario(
    "creating",
    [
        post("a custom object, whose status is dropped", WIDGETS, widget(status={"phase": "x"})),
        post("it exists", WIDGETS, widget()),
        post("a ConfigMap", CONFIG_MAPS, {"metadata": {"name": "one"}, "data": {"k": "v"}}),
        post("the ConfigMap exists", CONFIG_MAPS, {"metadata": {"name": "one"}}),
        post("with a resourceVersion", WIDGETS, widget(metadata={"name": "b", "resourceVersion": "5"})),
        post("ConfigMap with a resourceVersion", CONFIG_MAPS, {"metadata": {"name": "b", "resourceVersion": "5"}}),
        post(
            "with what only the server sets",
            WIDGETS,
            widget(
                metadata={
                    "name": "b0",
                    "resourceVersion": "0",
                    "uid": "abc",
                    "generation": 7,
                    "creationTimestamp": "2001-01-01T00:00:00Z",
                    "deletionTimestamp": "2001-01-01T00:00:00Z",
                    "deletionGracePeriodSeconds": 5,
                    "selfLink": "x",
                }
            ),
        ),
        post("in a namespace that is not there", f"{GROUP_VERSION}/namespaces/nowhere/widgets", widget()),
        post(
            "ConfigMap in a namespace that is not there",
            "/api/v1/namespaces/nowhere/configmaps",
            {"metadata": {"name": "a"}},
        ),
        post("without a name", WIDGETS, widget(metadata={})),
        post("ConfigMap without a name", CONFIG_MAPS, {"metadata": {}}),
        post("a name is generated", CONFIG_MAPS, {"metadata": {"generateName": "gen-"}}),
        post("a name is generated for a custom object", WIDGETS, widget(metadata={"generateName": "gen-"})),
        post("a generated name is cut to fit", CONFIG_MAPS + DRY, {"metadata": {"generateName": "a" * 70 + "-"}}),
        post("name and prefix: the name counts", CONFIG_MAPS, {"metadata": {"name": "both", "generateName": "gen-"}}),
        post("a bad prefix", CONFIG_MAPS, {"metadata": {"generateName": "Gen_"}}),
        post("another namespace in the object", WIDGETS, widget(metadata={"name": "b", "namespace": "other"})),
        post("a namespace that is empty", WIDGETS + DRY, widget(metadata={"name": "b", "namespace": ""})),
        post("dry run", WIDGETS + DRY, widget("free")),
        post("dry run of what exists", WIDGETS + DRY, widget("one")),
        post("dry run with another word", CONFIG_MAPS + "?dryRun=Nope", {"metadata": {"name": "b"}}),
        post("by POST to the object", WIDGETS + "/one", widget()),
        post("an empty object", CONFIG_MAPS + DRY, {}),
    ],
    [definition()],
)

METADATA = Scenario(
    "metadata",
    [
        post("a bad name", WIDGETS, widget("B_x")),
        post("a name that is not ASCII", WIDGETS, widget("é")),
        post("a confusable name", WIDGETS, widget("аbc")),  # noqa: RUF001 a Cyrillic letter, on purpose
        post("a long name", WIDGETS, widget("a" * 254)),
        post("a bad name of a ConfigMap", CONFIG_MAPS, {"metadata": {"name": "B_x"}}),
        post("bad labels", CONFIG_MAPS, {"metadata": {"name": "b", "labels": {"a b": "c d"}}}),
        post(
            "bad labels and finalizers",
            WIDGETS,
            widget(metadata={"name": "b", "labels": {"a b": "c d"}, "finalizers": ["bad finalizer", "nodomain"]}),
        ),
        post("a finalizer without a domain", WIDGETS + DRY, widget(metadata={"name": "b", "finalizers": ["nodomain"]})),
        post(
            "a ConfigMap's finalizer without a domain",
            CONFIG_MAPS + DRY,
            {"metadata": {"name": "b", "finalizers": ["nodomain"]}},
        ),
        post(
            "a finalizer with a domain but no path",
            WIDGETS + DRY,
            widget(metadata={"name": "b", "finalizers": ["a.example.com", "orphan", "kubernetes"]}),
        ),
        post("a finalizer as of old", WIDGETS, widget(metadata={"name": "b", "finalizers": ["nodomain"]})),
        patch("it is not warned of again", WIDGETS + "/b", {"metadata": {"labels": {"a": "b"}}}),
        patch("another one is", WIDGETS + "/b", {"metadata": {"finalizers": ["nodomain", "more"]}}),
        post(
            "both deletion finalizers",
            WIDGETS,
            widget(metadata={"name": "b", "finalizers": ["orphan", "foregroundDeletion"]}),
        ),
        post("a bad annotation key", CONFIG_MAPS, {"metadata": {"name": "b", "annotations": {"a b": "c"}}}),
        post(
            "annotations in capitals are fine",
            CONFIG_MAPS + DRY,
            {"metadata": {"name": "b", "annotations": {"A": "c"}}},
        ),
        post(
            "annotations that are too large",
            CONFIG_MAPS,
            {"metadata": {"name": "b", "annotations": {"a": "x" * (256 * 1024 + 1)}}},
        ),
        post(
            "an owner without anything",
            CONFIG_MAPS,
            {"metadata": {"name": "b", "ownerReferences": [{"apiVersion": "v1", "kind": "", "name": "", "uid": ""}]}},
        ),
        post(
            "two controllers",
            CONFIG_MAPS,
            {
                "metadata": {
                    "name": "b",
                    "ownerReferences": [
                        OWNER | {"controller": True},
                        OWNER | {"name": "b", "uid": "2", "controller": True},
                    ],
                }
            },
        ),
        post("an owner twice", CONFIG_MAPS + DRY, {"metadata": {"name": "b", "ownerReferences": [OWNER, OWNER]}}),
        post(
            "an event as owner",
            CONFIG_MAPS,
            {"metadata": {"name": "b", "ownerReferences": [OWNER | {"kind": "Event"}]}},
        ),
        post("labels of a wrong type", WIDGETS, widget(metadata={"name": "b", "labels": {"a": 1}})),
        post("a ConfigMap's labels of a wrong type", CONFIG_MAPS, {"metadata": {"name": "b", "labels": {"a": 1}}}),
        post("metadata that is text", WIDGETS, widget(metadata="x")),
        post("a ConfigMap's metadata that is text", CONFIG_MAPS, {"metadata": "x"}),
        post("metadata that is null", WIDGETS, widget(metadata=None)),
        post("nulls in metadata", WIDGETS + DRY, widget(metadata={"name": "b", "labels": None, "annotations": None})),
        post("a null label", WIDGETS + DRY, widget(metadata={"name": "b", "labels": {"a": None}})),
        post("a bad time", WIDGETS, widget(metadata={"name": "b", "creationTimestamp": "yesterday"})),
    ],
    [definition()],
)

BODIES = Scenario(
    "bodies",
    [
        post("another kind", WIDGETS, widget(kind="Gizmo")),
        post("no kind", WIDGETS, {"apiVersion": "<group>/v1", "metadata": {"name": "b"}}),
        post("no apiVersion", WIDGETS, {"kind": "Widget", "metadata": {"name": "b"}}),
        post("another version", WIDGETS, widget(apiVersion="<group>/v2")),
        post("another group", WIDGETS, widget(apiVersion="other.example.com/v1")),
        post("a bad apiVersion", WIDGETS, widget(apiVersion="a/b/c")),
        post(
            "a Secret is no ConfigMap", CONFIG_MAPS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}
        ),
        post("an unknown kind", CONFIG_MAPS, {"apiVersion": "v1", "kind": "Nope", "metadata": {"name": "b"}}),
        post(
            "a version there is not", CONFIG_MAPS, {"apiVersion": "v2", "kind": "ConfigMap", "metadata": {"name": "b"}}
        ),
        post("half a document", WIDGETS, "{"),
        post("half a ConfigMap", CONFIG_MAPS, "{"),
        post("something behind the document", CONFIG_MAPS, '{"metadata":{"name":"t"}} x'),
        post("nothing", WIDGETS, ""),
        post("nothing for a ConfigMap", CONFIG_MAPS, ""),
        post("a list", WIDGETS, "[]"),
        post("a list for a ConfigMap", CONFIG_MAPS, "[]"),
        post("null", WIDGETS, "null"),
        post("an unknown content type", WIDGETS, widget(), content_type="application/foo"),
        post("text/plain", CONFIG_MAPS, {"metadata": {"name": "b"}}, content_type="text/plain"),
        post(
            "YAML",
            WIDGETS + DRY,
            "apiVersion: <group>/v1\nkind: Widget\nmetadata:\n  name: yam\nspec:\n  size: 1\n",
            content_type=YAML,
        ),
        post("JSON with a charset", WIDGETS + DRY, widget(), content_type="application/json; charset=utf-8"),
        post("a number where text belongs", CONFIG_MAPS, {"metadata": {"name": "b"}, "data": {"a": 1}}),
        post("text where a map belongs", CONFIG_MAPS, {"metadata": {"name": "b"}, "data": "x"}),
        post("bad UTF-8", CONFIG_MAPS, b'{"metadata":{"name":"b"},"data":{"a":"\xff"}}'),
    ],
    [definition()],
)

SCHEMAS = Scenario(
    "schemas",
    [
        post("text for a number", WIDGETS, widget(spec={"size": "x"})),
        post("a required field is missing", WIDGETS, widget(spec={})),
        post(
            "several things are wrong",
            WIDGETS,
            widget(spec={"size": 0, "colour": "green", "tags": ["aaaaaaa", "b", "c"]}),
        ),
        post("an item twice", WIDGETS, widget(spec={"size": 1, "parts": [{"name": "a"}, {"name": "a"}]})),
        post("null for an object", WIDGETS + DRY, widget(spec=None)),
        post("a list for an object", WIDGETS, widget(spec=[])),
        post("a whole number with a point", WIDGETS + DRY, widget(spec={"size": 2.0})),
        post("a broken number", WIDGETS, widget(spec={"size": 2.5})),
        post("null takes the default", WIDGETS + DRY, widget(spec={"size": 1, "mode": None})),
        post("null without a default goes", WIDGETS + DRY, widget(spec={"size": 1, "colour": None})),
        post("required and null", WIDGETS, widget(spec={"size": None})),
        post(
            "unknown fields: warnings",
            WIDGETS + DRY,
            widget(spec={"size": 1, "bogus": 1}, metadata={"name": "b", "bogus": 2}, more=3),
        ),
        post(
            "unknown fields: strict",
            WIDGETS + "?fieldValidation=Strict",
            widget(spec={"size": 1, "bogus": 1, "another": 2}, metadata={"name": "b", "bogus": 2}, more=3),
        ),
        post(
            "unknown fields: ignored", WIDGETS + DRY + "&fieldValidation=Ignore", widget(spec={"size": 1, "bogus": 1})
        ),
        post(
            "unknown fields of a ConfigMap: strict",
            CONFIG_MAPS + "?fieldValidation=Strict",
            {"metadata": {"name": "b", "x": 1}, "data": {}, "more": 1},
        ),
        post(
            "unknown fields of a ConfigMap: warnings", CONFIG_MAPS + DRY, {"metadata": {"name": "b", "x": 1}, "more": 1}
        ),
        post(
            "a field twice: strict",
            WIDGETS + "?fieldValidation=Strict",
            '{"apiVersion":"<group>/v1","kind":"Widget","metadata":{"name":"b"},"spec":{"size":1,"size":2}}',
        ),
        post(
            "a field twice: warning",
            WIDGETS + DRY,
            '{"apiVersion":"<group>/v1","kind":"Widget","metadata":{"name":"b"},"spec":{"size":1,"size":2}}',
        ),
        post(
            "fields of a ConfigMap twice: strict",
            CONFIG_MAPS + "?fieldValidation=Strict",
            '{"metadata":{"name":"b"},"data":{"a":"1","a":"2"},"data":{}}',
        ),
        post("an object that is too large to be stored", WIDGETS, widget(spec={"size": 1, "mode": "x" * 2_000_000})),
        post("an unknown fieldValidation", CONFIG_MAPS + "?fieldValidation=Nope", {"metadata": {"name": "b"}}),
        post("a field in another case", CONFIG_MAPS + DRY, {"metadata": {"name": "b"}, "Data": {"a": "b"}}),
        post("a long field manager", CONFIG_MAPS + "?fieldManager=" + "m" * 129, {"metadata": {"name": "b"}}),
    ],
    [definition()],
)
