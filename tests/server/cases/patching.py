"""Patches: JSON, merge, strategic."""

from __future__ import annotations

from ..differential import APPLY, JSON_PATCH, STRATEGIC, Scenario, get, patch, post
from .kinds import CONFIG_MAPS, NO_UID, WIDGETS, definition, widget

ONE = f"{WIDGETS}/one"
MAP = f"{CONFIG_MAPS}/one"

MERGING = Scenario(
    "merging",
    [
        post("to begin with", WIDGETS, widget(metadata={"name": "one", "labels": {"l": "1"}}), save="first"),
        patch("a change", ONE, {"spec": {"size": 4}}),
        patch("the same again keeps the version", ONE, {"spec": {"size": 4}}),
        patch("nothing at all", ONE, {}),
        patch("what is removed comes back by default", ONE, {"spec": {"mode": None}}),
        patch("null where nothing is", ONE, {"spec": {"colour": None}}),
        patch("lists are replaced", ONE, {"spec": {"tags": ["a"]}}),
        patch("a stale version", ONE, {"metadata": {"resourceVersion": "1"}, "spec": {"size": 5}}),
        patch("a version that is no number", ONE, {"metadata": {"resourceVersion": "abc"}, "spec": {"size": 5}}),
        patch("a version that is null", ONE, {"metadata": {"resourceVersion": None}, "spec": {"size": 5}}),
        patch("another name", ONE, {"metadata": {"name": "v"}}),
        patch("another namespace", ONE, {"metadata": {"namespace": "v"}}),
        patch("another uid", ONE, {"metadata": {"uid": NO_UID}}),
        patch("no uid", ONE, {"metadata": {"uid": None}, "spec": {"size": 6}}),
        patch("another kind", ONE, {"kind": "Gizmo"}),
        patch("another version of the kind", ONE, {"apiVersion": "<group>/v2"}),
        patch("no kind", ONE, {"kind": None}),
        patch("invalid", ONE, {"spec": {"size": 0}}),
        patch("a wrong type", ONE, {"spec": {"size": "x"}}),
        patch("labels of a wrong type", ONE, {"metadata": {"labels": "x"}}),
        patch("metadata removed", ONE, {"metadata": None}),
        patch("an unknown field, strict", ONE + "?fieldValidation=Strict", {"spec": {"bogus": 1}}),
        patch("an unknown field, warning", ONE, {"spec": {"bogus": 1}}),
        patch("a field twice, strict", ONE + "?fieldValidation=Strict", '{"spec":{"size":1,"size":2}}'),
        patch("half a document", ONE, "{"),
        patch("a list", ONE, "[]"),
        patch("null", ONE, "null"),
        patch("text", ONE, '"x"'),
        patch("nothing", ONE, ""),
        patch("what is not there", WIDGETS + "/nope", {}),
        patch("the collection", WIDGETS, {}),
        patch("force", ONE + "?force=true", {}),
        patch("dry run", ONE + "?dryRun=All", {"spec": {"size": 9}}),
        patch("another word for dry run", ONE + "?dryRun=x", {}),
        patch("another word for validation", ONE + "?fieldValidation=x", {}),
        patch("a long field manager", ONE + "?fieldManager=" + "m" * 129, {}),
        patch("labels make no generation", ONE, {"metadata": {"labels": {"l": None, "m": "2"}}}),
        patch("generation is the server's", ONE, {"metadata": {"generation": 99}}),
        patch("as plain JSON", ONE, {}, "application/json"),
        patch("strategic, of a custom object", ONE, {}, STRATEGIC),
        patch("apply without a manager", ONE, widget(), APPLY),
        get("after all that", ONE),
    ],
    [definition()],
)

JSON_PATCHES = Scenario(
    "json-patches",
    [
        post("to begin with", WIDGETS, widget(), save="first"),
        patch("replace", ONE, [{"op": "replace", "path": "/spec/size", "value": 6}], JSON_PATCH),
        patch("add", ONE, [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}], JSON_PATCH),
        patch("remove", ONE, [{"op": "remove", "path": "/metadata/labels/a"}], JSON_PATCH),
        patch("copy", ONE, [{"op": "copy", "from": "/spec/mode", "path": "/spec/colour"}], JSON_PATCH),
        patch("move and test", ONE, [
            {"op": "add", "path": "/spec/tags", "value": ["a", "b"]},
            {"op": "test", "path": "/spec/tags/1", "value": "b"},
            {"op": "remove", "path": "/spec/tags/0"},
            {"op": "add", "path": "/spec/tags/-", "value": "c"},
        ], JSON_PATCH),
        patch("a test that fails", ONE, [{"op": "test", "path": "/spec/size", "value": 99}], JSON_PATCH),
        patch("a test of the version", ONE, [
            {"op": "test", "path": "/metadata/resourceVersion", "value": "1"},
            {"op": "replace", "path": "/spec/size", "value": 7},
        ], JSON_PATCH),
        patch("remove what is not there", ONE, [{"op": "remove", "path": "/spec/nope"}], JSON_PATCH),
        patch("add under nothing", ONE, [{"op": "add", "path": "/spec/nope/x", "value": 1}], JSON_PATCH),
        patch("replace what is not there", ONE, [{"op": "replace", "path": "/spec/colour", "value": "red"}], JSON_PATCH),
        patch("a bad pointer", ONE, [{"op": "remove", "path": "spec"}], JSON_PATCH),
        patch("a bad operation", ONE, [{"op": "frob", "path": "/spec"}], JSON_PATCH),
        patch("no operation", ONE, [{"path": "/spec"}], JSON_PATCH),
        patch("an object", ONE, {"op": "test"}, JSON_PATCH),
        patch("half a document", ONE, "[{", JSON_PATCH),
        patch("nothing to do", ONE, "[]", JSON_PATCH),
        patch("an operation that is no object", ONE, "[1]", JSON_PATCH),
        patch("too many", ONE, [{"op": "test", "path": "/spec/size", "value": 6}] * 10_001, JSON_PATCH),
        patch("another name", ONE, [{"op": "replace", "path": "/metadata/name", "value": "x"}], JSON_PATCH),
        patch("the whole document goes", ONE, [{"op": "remove", "path": ""}], JSON_PATCH),
        patch("a bad version", ONE, [{"op": "replace", "path": "/metadata/resourceVersion", "value": "1"}], JSON_PATCH),
        patch("invalid", ONE, [{"op": "replace", "path": "/spec/size", "value": 0}], JSON_PATCH),
        patch("unknown, strict", ONE + "?fieldValidation=Strict", [{"op": "add", "path": "/spec/bogus", "value": 0}], JSON_PATCH),
        patch("not there", WIDGETS + "/nope", [], JSON_PATCH),
        get("after all that", ONE),
    ],
    [definition()],
)

BUILT_IN_PATCHES = Scenario(
    "built-in-patches",
    [
        post("to begin with", CONFIG_MAPS, {"metadata": {"name": "one"}, "data": {"k": "v"}}),
        patch("strategic", MAP, {"data": {"z": "1", "k": None}}, STRATEGIC),
        patch("strategic, finalizers are a set", MAP, {"metadata": {"finalizers": ["x.example.com/a"]}}, STRATEGIC),
        patch("strategic, finalizers are added", MAP, {"metadata": {"finalizers": ["x.example.com/b"]}}, STRATEGIC),
        patch(
            "strategic, one is taken out", MAP, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["x.example.com/a"]}}, STRATEGIC
        ),
        patch("strategic, replaced whole", MAP, {"data": {"$patch": "replace", "q": "1"}}, STRATEGIC),
        patch("strategic, half a document", MAP, "{", STRATEGIC),
        patch("strategic, a list", MAP, "[]", STRATEGIC),
        patch("strategic, unknown directive", MAP, {"$patch": "frob"}, STRATEGIC),
        patch("strategic, a wrong type", MAP, {"data": {"k": 1}}, STRATEGIC),
        patch("another uid", MAP, {"metadata": {"uid": NO_UID}}),
        patch("another kind", MAP, {"kind": "Secret"}),
        patch("a wrong type", MAP, {"data": {"k": 1}}),
        patch("unknown, strict", MAP + "?fieldValidation=Strict", {"bogus": 1}),
        patch("a failing test", MAP, [{"op": "test", "path": "/data/q", "value": "99"}], JSON_PATCH),
        patch("as plain JSON", MAP, {}, "application/json"),
        patch("the collection", CONFIG_MAPS, {}),
        patch("a stale version", MAP, {"metadata": {"resourceVersion": "1"}}),
        get("after all that", MAP),
    ],
)
