from __future__ import annotations

import json
import re
from collections import Counter
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pilotage.errors import DecodeError, UnplacedItems
from pilotage.meta import objects
from pilotage.meta.differences.difference import carry, carry_parts, unknown_parts
from pilotage.meta.markers import ListType
from pilotage.meta.models import Model, Resource, omit, resource
from pilotage.meta.scalars.quantity import Quantity


class Leaf(Model):
    name: str
    note: str = omit("")
    words: list[str] = []


class Node(Model):
    name: str
    size: int = 3
    leaf: Leaf | None = None
    leaves: list[Leaf] = []
    keyed: Annotated[list[Leaf], ListType("map", "name")] = []
    table: dict[str, Leaf] = {}
    children: list[Node] = []
    free: dict[str, Any] = {}


@resource(group="demo.pilotage.dev", version="v1")
class Tree(Resource):
    spec: Node


NAMES = st.sampled_from("abcde")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text("xy", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
UNKNOWN = st.dictionaries(st.sampled_from(["x-one", "x-two"]), VALUES, max_size=1)


def documents(known: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Documents with a name, some of the known fields, and some that the class does not know."""
    return st.builds(
        lambda name, fields, unknown: {"name": name} | fields | unknown,
        NAMES,
        st.fixed_dictionaries({}, optional=known),
        UNKNOWN,
    )


LEAVES = documents({"note": NAMES | st.just(""), "words": st.lists(NAMES, max_size=2)})
FIELDS = {
    "size": st.integers(0, 9),
    "leaf": LEAVES,
    "leaves": st.lists(LEAVES, max_size=5),
    "keyed": st.lists(LEAVES, max_size=4, unique_by=lambda leaf: str(leaf["name"])),
    "table": st.dictionaries(NAMES, LEAVES, max_size=2),
    "free": st.dictionaries(NAMES, VALUES, max_size=2),
}
NODES = documents(FIELDS | {"children": st.lists(documents(FIELDS), max_size=3)})


def tree(spec: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "one", "x-meta": {"kept": True}}
    return {"apiVersion": "demo.pilotage.dev/v1", "kind": "Tree", "metadata": metadata, "spec": spec, "x-top": [1]}


def read(document: dict[str, Any]) -> Tree:
    return objects.decode(Tree, json.dumps(document).encode())


def edit_leaf(draw: st.DrawFn, leaf: Leaf) -> None:
    if draw(st.booleans()):
        leaf.note = draw(NAMES | st.just(""))
    else:
        leaf.words = draw(st.lists(NAMES, max_size=2))


def edit_list(draw: st.DrawFn, leaves: list[Leaf]) -> None:
    """Items move, come, go and change."""
    if draw(st.booleans()):
        moved: list[Leaf] = draw(st.permutations(leaves))
        leaves[:] = moved
    for _ in range(draw(st.integers(0, 2))):
        if draw(st.booleans()) and leaves:
            del leaves[draw(st.integers(0, len(leaves) - 1))]
        else:
            leaves.insert(draw(st.integers(0, len(leaves))), Leaf(name=draw(NAMES)))
    if draw(st.booleans()) and leaves:
        edit_leaf(draw, draw(st.sampled_from(leaves)))


def edit_node(draw: st.DrawFn, node: Node) -> None:
    for _ in range(draw(st.integers(0, 3))):
        match draw(st.integers(0, 6)):
            case 0:
                node.size = draw(st.integers(0, 9))
            case 1:
                node.leaf = draw(st.sampled_from([None, Leaf(name="n"), node.leaf]))
            case 2:
                edit_list(draw, node.leaves)
            case 3:
                edit_list(draw, node.keyed)
            case 4:
                node.table.pop(draw(NAMES), None)
                node.table[draw(NAMES)] = Leaf(name=draw(NAMES))
            case 5:
                node.free[draw(NAMES)] = draw(VALUES)
            case _ if node.children:
                edit_node(draw, draw(st.sampled_from(node.children)))


@st.composite
def edits(draw: st.DrawFn) -> tuple[dict[str, Any], Tree]:
    document = tree(draw(NODES))
    changed = read(document)
    edit_node(draw, changed.spec)
    return document, changed


@given(NODES)
def test_an_unchanged_object_is_written_as_it_was_read(spec: dict[str, Any]) -> None:
    assert json.loads(objects.updated(read(tree(spec)))) == tree(spec)


@given(edits())
def test_what_is_written_reads_as_the_changed_object_or_is_refused(edit: tuple[dict[str, Any], Tree]) -> None:
    document, changed = edit
    original = json.dumps(document)
    try:
        data = objects.updated(changed)
    except UnplacedItems:
        return
    assert objects.decode(Tree, data) == changed
    written = json.loads(data)
    assert written["x-top"] == [1]
    assert written["metadata"]["x-meta"] == {"kept": True}
    assert {key: value for key, value in written["spec"].items() if key.startswith("x-")} == {
        key: value for key, value in document["spec"].items() if key.startswith("x-")
    }
    assert json.dumps(document) == original


@given(edits())
def test_encoded_fields_are_carried_over_as_documents_are(edit: tuple[dict[str, Any], Tree]) -> None:
    document, changed = edit
    states = (json.dumps(document).encode(), *map(msgspec.json.encode, (read(document), changed)))
    base, before, after = map(msgspec.json.decode, states)
    one, two, three = (msgspec.json.decode(state, type=dict[str, msgspec.Raw]) for state in states)
    try:
        expected = carry(base, before, after, Tree)
    except UnplacedItems as error:
        with pytest.raises(UnplacedItems, match=re.escape(str(error))):
            carry_parts(one, two, three, Tree)
    else:
        assert json.loads(msgspec.json.encode(carry_parts(one, two, three, Tree))) == expected


@st.composite
def marked_lists(draw: st.DrawFn, field: str) -> tuple[Tree, list[tuple[Leaf, bytes]]]:
    """A tree whose list items each have an unknown mark, changed; and the items as they were, by their mark."""
    keyed = field == "keyed"
    names = draw(st.lists(NAMES, max_size=6, unique=keyed))
    marked = [{"name": name, "mark": mark, "deep": {"mark": mark}} for mark, name in enumerate(names)]
    obj = read(tree({"name": "n", field: marked}))
    leaves: list[Leaf] = getattr(obj.spec, field)
    before = [(leaf, msgspec.json.encode(leaf)) for leaf in leaves]
    edit_list(draw, leaves)
    if keyed:
        assume(len({leaf.name for leaf in leaves}) == len(leaves))
    return obj, before


@given(marked_lists("leaves"))
def test_items_that_known_fields_distinguish_keep_unknown_fields(
    case: tuple[Tree, list[tuple[Leaf, bytes]]],
) -> None:
    obj, before = case
    try:
        written = json.loads(objects.updated(obj))["spec"].get("leaves", [])
    except UnplacedItems:
        return
    marks = Counter(leaf["mark"] for leaf in written if "mark" in leaf)
    assert all(count == 1 for count in marks.values()), "nothing unknown is doubled"
    assert all(leaf.get("deep", {}).get("mark") == leaf.get("mark") for leaf in written)
    known = Counter(data for _, data in before)
    known_now = Counter(msgspec.json.encode(leaf) for leaf in obj.spec.leaves)
    for mark, (leaf, data) in enumerate(before):
        places = [place for place, item in enumerate(obj.spec.leaves) if item is leaf]
        if places and msgspec.json.encode(leaf) == data and known[data] == known_now[data] == 1:
            assert written[places[0]]["mark"] == mark


@given(marked_lists("keyed"))
def test_items_with_keys_keep_what_is_unknown_however_they_move_and_change(
    case: tuple[Tree, list[tuple[Leaf, bytes]]],
) -> None:
    obj, before = case
    written = {leaf["name"]: leaf for leaf in json.loads(objects.updated(obj))["spec"].get("keyed", [])}
    for mark, (leaf, _) in enumerate(before):
        if leaf.name in written:
            assert written[leaf.name]["mark"] == mark
    assert [leaf.name for leaf in obj.spec.keyed] == list(written)


@given(st.lists(NAMES, max_size=6), st.data())
def test_items_changed_in_place_keep_what_is_unknown(names: list[str], data: st.DataObject) -> None:
    leaves = [{"name": name, "mark": mark} for mark, name in enumerate(names)]
    obj = read(tree({"name": "n", "leaves": leaves}))
    changed = data.draw(st.lists(st.booleans(), min_size=len(names), max_size=len(names)))
    for leaf, change in zip(obj.spec.leaves, changed, strict=True):
        leaf.note = "changed" if change else ""
    written = json.loads(objects.updated(obj))["spec"].get("leaves", [])
    assert [leaf["mark"] for leaf in written] == list(range(len(names)))


def lists(before: str, after: str) -> str:
    """Carry a list over: a letter is an item, a digit after it its unknown field."""
    base: list[dict[str, Any]] = []
    for letter in before:
        if letter.isdigit():
            base[-1]["mark"] = letter
        else:
            base.append({"name": letter})
    known = [{"name": item["name"]} for item in base]
    wanted = [{"name": letter} for letter in after]
    carried = carry({"leaves": base}, {"leaves": known}, {"leaves": wanted}, Node)
    return "".join(item["name"] + item.get("mark", "") for item in carried["leaves"])


@pytest.mark.parametrize(
    ("before", "after", "carried"),
    [
        ("a1b2c3", "bcd", "b2c3d"),
        ("a1b2c3", "cab", "c3a1b2"),
        ("a1b2c3", "axc", "a1x2c3"),
        ("a1b2c3", "bxc", "b2xc3"),
        ("a1b2c3", "", ""),
        ("", "ab", "ab"),
        ("a1", "ab", "a1b"),
        ("a1b2c3d4", "bac", "b2a1c3"),
        ("a1b2c3", "bax", "b2a1x3"),
        ("a1a2c3", "axc", "a1x2c3"),
        ("a1a2c3", "xac", "x1a2c3"),
        ("z9a1y8a2w7", "vuyaw", "v9u1y8a2w7"),
        ("a1a1b2", "ab", "a1b2"),
        ("abc1", "xyzwc", "xyzwc1"),
        ("a1b", "bca", "bca1"),
    ],
)
def test_items_without_keys_are_placed_by_value_then_between_their_neighbours(
    before: str, after: str, carried: str
) -> None:
    assert lists(before, after) == carried


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a1b2", "xyz"),
        ("a1bc", "xyzc"),
        ("a1b2c3d4", "dcxyz"),
        ("a1a2", "a"),
        ("aa2", "a"),
        ("a1b2c3", "cxay"),
    ],
)
def test_items_that_hold_unknown_fields_and_cannot_be_placed_are_refused(before: str, after: str) -> None:
    with pytest.raises(UnplacedItems) as caught:
        lists(before, after)
    assert caught.value.path == ".leaves"


def test_the_path_of_an_unplaced_item_leads_into_lists_and_maps() -> None:
    leaves = [{"name": "a", "x": 1}, {"name": "b"}]
    obj = read(tree({"name": "n", "children": [{"name": "c", "leaves": leaves}]}))
    obj.spec.children[0].leaves = [Leaf(name="y")]
    with pytest.raises(UnplacedItems) as caught:
        objects.updated(obj)
    assert caught.value.path == ".spec.children[0].leaves"


def test_a_long_list_is_carried_in_linear_time() -> None:
    base = [{"name": str(index), "mark": index} for index in range(20_000)]
    known = [{"name": item["name"]} for item in base]
    carried = carry({"leaves": base}, {"leaves": known}, {"leaves": known[::-1]}, Node)
    assert carried["leaves"] == base[::-1]


def test_values_written_in_another_way_stay_as_they_were_written() -> None:
    class Limits(Model):
        limits: dict[str, Quantity] = {}
        at: list[Quantity] = []

    base = {"limits": {"cpu": 1, "memory": "1024Mi"}, "at": ["1000m", 2]}
    before = {"limits": {"cpu": "1", "memory": "1Gi"}, "at": ["1", "2"]}
    after = {"limits": {"cpu": "2", "memory": "1Gi"}, "at": ["1", "3"]}
    assert carry(base, before, after, Limits) == {"limits": {"cpu": "2", "memory": "1024Mi"}, "at": ["1000m", "3"]}


def test_true_and_one_are_different_values() -> None:
    assert carry({"free": {"a": True}}, {"free": {"a": True}}, {"free": {"a": 1}}, Node)["free"]["a"] is not True


def test_deep_plain_data_is_carried_and_deep_unknown_data_is_left_alone() -> None:
    deep: Any = 1
    for _ in range(400):
        deep = {"a": deep}
    other = json.loads(json.dumps(deep).replace("1", "2"))
    base = {"free": deep, "unknown": deep}
    assert carry(base, {"free": deep}, {"free": other}, Node) == {"free": other, "unknown": deep}


def test_what_is_too_deep_to_be_written_is_refused() -> None:
    base: Any = {"x": 1}
    before: Any = {}
    after: Any = {"new": 1}
    for _ in range(700):
        base, before, after = {"a": base}, {"a": before}, {"a": after}
    with pytest.raises(DecodeError, match="too deeply"):
        carry(base, before, after, None)


def test_defaults_that_a_class_leaves_out_are_not_unknown() -> None:
    assert not unknown_parts({"name": "a", "note": "", "words": []}, {"name": "a"}, Leaf)
    assert unknown_parts({"name": "a", "other": None}, {"name": "a"}, Leaf) == {"other": None}
    nested = {"name": "a", "leaf": {"name": "b", "x": 1}}
    assert unknown_parts(nested, {"name": "a", "leaf": {"name": "b"}}, Node) == {"leaf": {"x": 1}}
    listed = {"name": "a", "leaves": [{"x": 1}]}
    assert unknown_parts(listed, {"name": "a", "leaves": [{}]}, Node) == {"leaves": [{"x": 1}]}
