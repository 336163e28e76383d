from __future__ import annotations

import contextlib
import copy
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import MalformedPatch, PatchError, PatchTooLarge
from pilotage.meta.documents import equal
from pilotage.meta.markers import PatchMerge
from pilotage.meta.models import Model
from pilotage.meta.patches import MergeSchema, ModelMergeSchema, OpenAPIMergeSchema, strategic, strategic_diff

NAMES = st.sampled_from("abcd")


class Env(Model):
    name: str
    value: str | None = None


class Container(Model):
    name: str
    image: str | None = None
    env: Annotated[list[Env], PatchMerge(key="name")] = []
    args: list[str] = []


class Strategy(Model):
    type: str
    rolling: dict[str, int] | None = None


class Selector(Model):
    labels: dict[str, str] = {}


class Volume(Model):
    name: str
    host: dict[str, str] | None = None
    empty: dict[str, str] | None = None


class Pod(Model):
    containers: Annotated[list[Container], PatchMerge(key="name")] = []
    volumes: Annotated[list[Volume], PatchMerge("merge,retainKeys", "name")] = []
    finalizers: Annotated[list[str], PatchMerge()] = []
    strategy: Annotated[Strategy | None, PatchMerge("retainKeys")] = None
    selector: Annotated[Selector | None, PatchMerge("replace")] = None
    atomic: list[Env] = []
    labels: dict[str, str] = {}
    table: dict[str, Container] = {}
    nested: Container | None = None


OPENAPI: dict[str, Any] = {
    "Pod": {
        "properties": {
            "containers": {
                "items": {"$ref": "#/Container"},
                "x-kubernetes-patch-merge-key": "name",
                "x-kubernetes-patch-strategy": "merge",
            },
            "volumes": {
                "items": {"allOf": [{"$ref": "#/Volume"}], "default": {}},
                "x-kubernetes-patch-merge-key": "name",
                "x-kubernetes-patch-strategy": "merge,retainKeys",
            },
            "finalizers": {"items": {"type": "string"}, "x-kubernetes-patch-strategy": "merge"},
            "strategy": {"allOf": [{"$ref": "#/Strategy"}], "x-kubernetes-patch-strategy": "retainKeys"},
            "selector": {"$ref": "#/Selector", "x-kubernetes-patch-strategy": "replace"},
            "atomic": {"items": {"$ref": "#/Env"}},
            "labels": {"additionalProperties": {"type": "string"}},
            "table": {"additionalProperties": {"$ref": "#/Container"}},
            "nested": {"$ref": "#/Container"},
        }
    },
    "Container": {
        "properties": {
            "env": {
                "items": {"$ref": "#/Env"},
                "x-kubernetes-patch-merge-key": "name",
                "x-kubernetes-patch-strategy": "merge",
            },
            "args": {"items": {"type": "string"}},
        }
    },
    "Env": {"properties": {"name": {"type": "string"}}},
    "Volume": {"properties": {"name": {"type": "string"}}},
    "Strategy": {"properties": {"type": {"type": "string"}}},
    "Selector": {"properties": {"labels": {"additionalProperties": {"type": "string"}}}},
}

SCHEMAS: list[MergeSchema] = [
    ModelMergeSchema(Pod),
    OpenAPIMergeSchema(OPENAPI["Pod"], lambda reference: OPENAPI[reference.removeprefix("#/")]),
]


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize("schema", SCHEMAS, ids=["model", "openapi"])
@pytest.mark.parametrize(
    ("document", "patch", "result"),
    [
        # objects are merged, null removes
        ({"labels": {"a": "1", "b": "2"}}, {"labels": {"a": None, "c": "3"}}, {"labels": {"b": "2", "c": "3"}}),
        (
            {},
            {"nested": {"name": "x", "image": None, "env": [{"name": "a", "value": None}]}},
            {"nested": {"name": "x", "env": named("a")}},
        ),
        ({"labels": "odd"}, {"labels": {"a": "1"}}, {"labels": {"a": "1"}}),
        # lists are merged by their key, deeply
        (
            {
                "containers": [
                    {"name": "a", "image": "1", "env": [{"name": "x", "value": "1"}, {"name": "y", "value": "2"}]},
                    {"name": "b"},
                ]
            },
            {"containers": [{"name": "a", "env": [{"name": "y", "value": "3"}, {"name": "z", "value": "4"}]}]},
            {
                "containers": [
                    {
                        "name": "a",
                        "image": "1",
                        "env": [{"name": "x", "value": "1"}, {"name": "y", "value": "3"}, {"name": "z", "value": "4"}],
                    },
                    {"name": "b"},
                ]
            },
        ),
        (
            {"table": {"k": {"env": named("a")}}},
            {"table": {"k": {"env": named("b")}}},
            {"table": {"k": {"env": named("b", "a")}}},
        ),
        (
            {"nested": {"env": named("a"), "args": ["1"]}},
            {"nested": {"env": named("b"), "args": ["2"]}},
            {"nested": {"env": named("b", "a"), "args": ["2"]}},
        ),
        # lists without a strategy are replaced
        ({"atomic": named("a", "b")}, {"atomic": named("c")}, {"atomic": named("c")}),
        ({"unknown": named("a")}, {"unknown": named("b")}, {"unknown": named("b")}),
        # $patch in lists
        (
            {"containers": named("a", "b")},
            {"containers": [{"$patch": "delete", "name": "a"}]},
            {"containers": named("b")},
        ),
        ({"containers": named("a")}, {"containers": [{"$patch": "delete", "name": "x"}]}, {"containers": named("a")}),
        (
            {"containers": named("a", "b")},
            {"containers": [{"$patch": "replace"}, {"name": "c"}]},
            {"containers": named("c")},
        ),
        ({"containers": named("a", "b")}, {"containers": [{"$patch": "replace"}]}, {"containers": []}),
        ({}, {"containers": [{"$patch": "merge", "name": "a"}, {"name": "b"}]}, {"containers": named("b")}),
        ({}, {"containers": [{"$patch": "delete", "name": "a"}, {"name": "b"}]}, {"containers": named("b")}),
        # $patch in objects
        ({"labels": {"a": "1"}}, {"labels": {"$patch": "replace", "b": "2"}}, {"labels": {"b": "2"}}),
        ({"labels": {"a": "1"}}, {"labels": {"$patch": "delete"}}, {"labels": {}}),
        ({}, {"labels": {"$patch": "merge", "b": "2"}}, {}),
        ({}, {"labels": {"$patch": "replace", "b": "2"}}, {}),
        ({}, {"labels": {"$patch": "delete"}}, {}),
        ({"containers": [{"name": "a", "image": "1"}]}, {"$patch": "replace", "labels": {}}, {"labels": {}}),
        # strategies of objects
        (
            {"selector": {"labels": {"a": "1"}}},
            {"selector": {"labels": {"b": "2"}}},
            {"selector": {"labels": {"b": "2"}}},
        ),
        (
            {"strategy": {"type": "R", "rolling": {"x": 1}}},
            {"strategy": {"$retainKeys": ["type"], "type": "X"}},
            {"strategy": {"type": "X"}},
        ),
        (
            {"volumes": [{"name": "v", "host": {"p": "/"}}]},
            {"volumes": [{"$retainKeys": ["name", "empty"], "name": "v", "empty": {}}]},
            {"volumes": [{"name": "v", "empty": {}}]},
        ),
        ({}, {"strategy": {"$retainKeys": ["type"], "type": "X"}}, {"strategy": {"type": "X"}}),
        # sets of scalars
        ({"finalizers": ["a", "b"]}, {"finalizers": ["c", "b"]}, {"finalizers": ["c", "a", "b"]}),
        (
            {"finalizers": ["a", "b", "c"]},
            {"$deleteFromPrimitiveList/finalizers": ["b", "x"]},
            {"finalizers": ["a", "c"]},
        ),
        (
            {"finalizers": ["a", "b"]},
            {"finalizers": ["c"], "$deleteFromPrimitiveList/finalizers": ["a"]},
            {"finalizers": ["c", "b"]},
        ),
        ({}, {"$deleteFromPrimitiveList/finalizers": ["a"]}, {}),
        ({}, {"finalizers": ["a", "b"], "$deleteFromPrimitiveList/finalizers": ["a"]}, {"finalizers": ["b"]}),
        ({"finalizers": ["a", "b", "c"]}, {"$setElementOrder/finalizers": ["c", "a"]}, {"finalizers": ["b", "c", "a"]}),
        # the order of items; without a directive a new one comes first, as on a kube-apiserver
        ({"containers": named("a", "b")}, {"containers": named("n")}, {"containers": named("n", "a", "b")}),
        (
            {"containers": named("a", "b", "c")},
            {"$setElementOrder/containers": named("c", "a", "b")},
            {"containers": named("c", "a", "b")},
        ),
        (
            {"containers": named("a", "s", "b")},
            {"$setElementOrder/containers": named("b", "a")},
            {"containers": named("s", "b", "a")},
        ),
        (
            {"containers": named("a", "b")},
            {"$setElementOrder/containers": named("n", "b", "a"), "containers": named("n")},
            {"containers": named("n", "b", "a")},
        ),
        (
            {"containers": named("a", "b")},
            {"$setElementOrder/containers": named("b"), "containers": [{"$patch": "delete", "name": "a"}]},
            {"containers": named("b")},
        ),
        ({}, {"$setElementOrder/containers": named("a"), "containers": named("a")}, {"containers": named("a")}),
        ({}, {"$setElementOrder/containers": named("a")}, {}),
        ({"containers": named("a", "b", "c")}, {"containers": named("c", "a")}, {"containers": named("b", "c", "a")}),
        ({"containers": named("a", "b")}, {"containers": named("n", "a")}, {"containers": named("n", "a", "b")}),
        ({"finalizers": ["a"]}, {"$deleteFromPrimitiveList/finalizers": "a"}, {"finalizers": ["a"]}),
    ],
)
def test_patches_do_what_kubernetes_does(schema: MergeSchema, document: Any, patch: Any, result: Any) -> None:
    before, original = copy.deepcopy(document), copy.deepcopy(patch)
    patched = strategic.apply(document, patch, schema)
    assert patched == result
    for field in ("containers", "finalizers"):
        assert patched.get(field) == result.get(field)
    assert document == before
    assert patch == original


@pytest.mark.parametrize(
    ("patch", "words", "path"),
    [
        ([], "is an object", ""),
        ({"$patch": "spin"}, "unknown patch type: spin in map: map[$patch:spin]", ""),
        ({"$patch": "merge"}, "unknown patch type: merge in map: map[$patch:merge]", ""),
        ({"labels": {"$patch": 1}}, "unknown patch type: 1 in map: map[$patch:1]", ".labels"),
        ({"new": {"deep": {"$patch": "spin"}}}, "unknown patch type: spin", ".new.deep"),
        (
            {"containers": [{"image": "x"}]},
            "map: map[image:x] does not contain declared merge key: name",
            ".containers",
        ),
        ({"containers": [{"$patch": "delete"}]}, "does not contain declared merge key: name", ".containers"),
        ({"containers": ["x"]}, "list element types are not identical: [[map[name:a]] [x]]", ".containers"),
        ({"finalizers": [{"a": 1}]}, "list element types are not identical: [[f] [map[a:1]]]", ".finalizers"),
        ({"$setElementOrder/containers": {}}, "invalid patch format of setElementOrder list", ".containers"),
        (
            {"$setElementOrder/containers": named("a"), "containers": named("b")},
            "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
            ".containers",
        ),
        (
            {"$setElementOrder/containers": named("a", "b"), "containers": named("b", "a")},
            "The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match",
            ".containers",
        ),
        ({"strategy": {"$retainKeys": "type"}}, "invalid patch format of retainKeys", ".strategy"),
        ({"strategy": {"$retainKeys": [], "type": "X"}}, "invalid patch format of retainKeys", ".strategy.type"),
    ],
)
def test_what_is_no_patch_is_refused_with_its_place(patch: Any, words: str, path: str) -> None:
    document = {"containers": named("a"), "finalizers": ["f"], "labels": {"a": "1"}, "strategy": {"type": "R"}}
    with pytest.raises(MalformedPatch) as caught:
        strategic.apply(document, patch, Pod)
    assert words in str(caught.value)
    assert caught.value.path == path


@pytest.mark.parametrize("items", [[], named("b"), [{"name": "a", "$patch": "delete"}]])
def test_a_list_with_an_item_that_has_no_key_cannot_be_merged(items: Any) -> None:
    document = {"containers": [{"image": "keyless"}, {"name": "a"}]}
    with pytest.raises(MalformedPatch, match=r"map: map\[image:keyless\] does not contain declared merge key: name"):
        strategic.apply(document, {"containers": items}, Pod)


def test_a_patch_that_is_too_deep_is_refused() -> None:
    deep: Any = {}
    for _ in range(100_000):
        deep = {"a": deep}
    with pytest.raises(PatchTooLarge, match="too deeply"):
        strategic.apply({}, deep, None)


def test_without_a_schema_objects_are_merged_and_lists_replaced() -> None:
    assert strategic.apply({"a": {"b": 1}, "l": [1]}, {"a": {"c": 2}, "l": [2]}, None) == {
        "a": {"b": 1, "c": 2},
        "l": [2],
    }


TEXTS = st.dictionaries(NAMES, NAMES, max_size=2)
ENVS = st.lists(
    st.fixed_dictionaries({"name": NAMES}, optional={"value": NAMES}), max_size=4, unique_by=lambda item: item["name"]
)
CONTAINER_FIELDS: dict[str, st.SearchStrategy[Any]] = {"image": NAMES, "env": ENVS, "args": st.lists(NAMES, max_size=3)}
CONTAINERS = st.fixed_dictionaries({"name": NAMES}, optional=CONTAINER_FIELDS)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "containers": st.lists(CONTAINERS, max_size=4, unique_by=lambda item: str(item["name"]))
    | st.lists(CONTAINERS, max_size=3),
    "volumes": st.lists(
        st.fixed_dictionaries({"name": NAMES}, optional={"host": TEXTS, "empty": TEXTS}),
        max_size=3,
        unique_by=lambda item: str(item["name"]),
    ),
    "finalizers": st.lists(NAMES, max_size=4, unique=True),
    "strategy": st.fixed_dictionaries(
        {"type": NAMES}, optional={"rolling": st.dictionaries(NAMES, st.integers(0, 2), max_size=2)}
    ),
    "selector": st.fixed_dictionaries({}, optional={"labels": TEXTS}),
    "atomic": ENVS,
    "labels": TEXTS | NAMES,
    "table": st.dictionaries(NAMES, CONTAINERS, max_size=2),
    "nested": CONTAINERS,
    "unknown": st.lists(TEXTS, max_size=2),
}
PODS = st.fixed_dictionaries({}, optional=FIELDS)
PAIRS = st.sampled_from(sorted(FIELDS)).flatmap(
    lambda name: st.tuples(*[st.fixed_dictionaries({name: FIELDS[name]})] * 2)
) | st.tuples(PODS, PODS)


@pytest.mark.parametrize("schema", [*SCHEMAS, None], ids=["model", "openapi", "none"])
@given(pair=PAIRS)
def test_applying_a_diff_gives_what_it_was_made_for(
    schema: MergeSchema | None, pair: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    before, after = pair
    originals = copy.deepcopy((before, after))
    patch = strategic_diff(before, after, schema)
    assert equal(strategic.apply(before, patch, schema), after)
    assert (before, after) == originals
    assert strategic_diff(before, copy.deepcopy(before), schema) == {}


DIRECTIVES = st.fixed_dictionaries(
    {},
    optional={
        "$patch": st.sampled_from(["replace", "delete", "merge", "x"]),
        "$retainKeys": st.lists(NAMES, max_size=2),
        "$setElementOrder/containers": st.lists(st.fixed_dictionaries({"name": NAMES}), max_size=3),
        "$deleteFromPrimitiveList/finalizers": st.lists(NAMES, max_size=2),
    },
)


@given(before=PODS, patch=PODS, directives=DIRECTIVES)
def test_no_patch_changes_its_inputs_or_fails_in_another_way(
    before: dict[str, Any], patch: dict[str, Any], directives: dict[str, Any]
) -> None:
    whole = patch | directives
    originals = copy.deepcopy((before, whole))
    with contextlib.suppress(PatchError):
        strategic.apply(before, whole, Pod)
    assert (before, whole) == originals


@pytest.mark.parametrize(
    ("before", "after", "patch"),
    [
        ({"labels": {"a": "1"}}, {}, {"labels": None}),
        (
            {"containers": [{"name": "a", "image": "1"}]},
            {"containers": [{"name": "a", "image": "2"}]},
            {"containers": [{"name": "a", "image": "2"}]},
        ),
        (
            {"containers": named("a", "b")},
            {"containers": named("b")},
            {"containers": [{"$patch": "delete", "name": "a"}]},
        ),
        (
            {"containers": named("a", "b")},
            {"containers": named("b", "a")},
            {"$setElementOrder/containers": named("b", "a")},
        ),
        (
            {"containers": named("a")},
            {"containers": named("a", "b")},
            {"$setElementOrder/containers": named("a", "b"), "containers": named("b")},
        ),
        (
            {"containers": named("a")},
            {"containers": named("a", "a")},
            {"containers": [{"$patch": "replace"}, *named("a", "a")]},
        ),
        (
            {"finalizers": ["a", "b"]},
            {"finalizers": ["b", "c"]},
            {
                "finalizers": ["c"],
                "$deleteFromPrimitiveList/finalizers": ["a"],
                "$setElementOrder/finalizers": ["b", "c"],
            },
        ),
        (
            {"strategy": {"type": "R", "rolling": {}}},
            {"strategy": {"type": "X"}},
            {"strategy": {"type": "X", "rolling": None, "$retainKeys": ["type"]}},
        ),
        (
            {"selector": {"labels": {"a": "1"}}},
            {"selector": {"labels": {"b": "1"}}},
            {"selector": {"labels": {"b": "1"}}},
        ),
        ({"atomic": named("a", "b")}, {"atomic": named("b")}, {"atomic": named("b")}),
        (
            {"volumes": [{"name": "v", "host": {"p": "/"}}]},
            {"volumes": [{"name": "v", "empty": {}}]},
            {"volumes": [{"name": "v", "host": None, "empty": {}, "$retainKeys": ["empty", "name"]}]},
        ),
    ],
)
def test_a_diff_contains_only_what_changed(before: Any, after: Any, patch: Any) -> None:
    assert strategic_diff(before, after, Pod) == patch
