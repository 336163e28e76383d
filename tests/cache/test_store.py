from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.cache.store import Store
from pilotage.errors import InvalidDefinition
from pilotage.meta import objects
from pilotage.meta.selectors.selectors import Selector
from pilotage.reflector.intake import Item
from tests.reflector.scripted import config_map

NAMES = st.sampled_from(["a", "b", "c"])
NAMESPACES = st.sampled_from(["one", "two"])
COLOURS = st.lists(st.sampled_from(["red", "green", "blue"]), max_size=3)
OBJECTS = st.tuples(NAMESPACES, NAMES, COLOURS)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), OBJECTS),
        st.tuples(st.just("remove"), st.tuples(NAMESPACES, NAMES)),
        st.tuples(st.just("replace"), st.lists(OBJECTS, max_size=4)),
    ),
    max_size=12,
)


def made(namespace: str, name: str, colours: list[str]) -> bytes:
    labels = {"first": colours[0]} if colours else {}
    return config_map(name, 1, namespace=namespace, metadata={"labels": labels}, data={"colours": ",".join(colours)})


def read(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, Any])


def colours_of(document: dict[str, Any]) -> list[str]:
    text: str = document["data"]["colours"]
    return text.split(",") if text else []


def colours_in(data: bytes) -> list[str]:
    return colours_of(read(data))


def never(key: tuple[str, str], error: BaseException) -> None:
    raise AssertionError((key, error))


@pytest.mark.covers("T112")
@given(STEPS, st.integers(0, 12))
def test_a_store_is_a_dict_whose_indexes_are_always_right(steps: list[Any], indexed_at: int) -> None:
    store = Store(never)
    model: dict[tuple[str, str], bytes] = {}
    for number, (step, argument) in enumerate(steps):
        if number == indexed_at:
            store.add_index("colour", colours_in)
        if number % 2:
            store.select(labels=Selector.parse("first=red"))  # from here on labels are kept
        if step == "put":
            data = made(*argument)
            assert store.put(data, objects.header(data)) == model.get(argument[:2])
            model[argument[:2]] = data
        elif step == "remove":
            assert store.remove(*argument) == model.pop(argument, None)
        else:
            items = [Item(namespace, name, made(namespace, name, colours)) for namespace, name, colours in argument]
            store.replace(items)
            model = {(item.namespace, item.name): item.data for item in items}
    check(store, model, indexed=indexed_at < len(steps))


def check(store: Store, model: dict[tuple[str, str], bytes], *, indexed: bool) -> None:
    assert {(item.namespace, item.name): item.data for item in store.items()} == model
    assert len(store) == len(model)
    for namespace in ("", "one", "two"):
        here = {key: data for key, data in model.items() if not namespace or key[0] == namespace}
        assert sorted(store.select(namespace)) == sorted(here.values())
        red = [data for data in here.values() if objects.header(data).labels.get("first") == "red"]
        assert sorted(store.select(namespace, Selector.parse("first=red"))) == sorted(red)
        if indexed:
            for colour in ("red", "green", "blue"):
                expected = sorted(key for key, data in here.items() if colour in colours_of(read(data)))
                assert sorted(store.index("colour").keys(colour, namespace)) == expected
    if indexed:
        values = {colour for data in model.values() for colour in colours_of(read(data))}
        assert set(store.index("colour").values()) == values, "values that nobody has take no room"


@pytest.mark.covers("T112")
def test_a_str_of_an_index_function_is_one_value() -> None:
    store = Store(never)
    store.add_index("colour", lambda data: "red")
    data = made("one", "a", [])
    store.put(data, objects.header(data))
    assert [*store.index("colour").keys("red")] == [("one", "a")]


def test_a_value_that_no_reader_could_ask_for_is_reported() -> None:
    reports: list[str] = []
    store = Store(lambda key, error: reports.append(f"{key[1]}: {error}"))
    wrong: Any = [5]
    store.add_index("size", lambda data: wrong)
    data = made("one", "a", [])
    store.put(data, objects.header(data))
    assert reports == ["a: an index function must return texts, not int"]


@pytest.mark.parametrize(("value", "number"), [(None, 0), (5, 1)])
def test_an_object_is_found_by_its_texts_beside_other_values(value: Any, number: int) -> None:
    reports: list[object] = []
    store = Store(lambda key, error: reports.append(error))
    store.add_index("colour", lambda data: ["red", value])
    data = made("one", "a", [])
    store.put(data, objects.header(data))
    assert [*store.index("colour").keys("red")] == [("one", "a")]
    assert len(reports) == number


def test_an_index_has_one_name() -> None:
    store = Store(never)
    store.add_index("colour", colours_in)
    with pytest.raises(InvalidDefinition, match="already"):
        store.add_index("colour", colours_in)
    with pytest.raises(InvalidDefinition, match=r"no index 'size' \(existing indexes: 'colour'\): add it with"):
        store.index("size")


@pytest.mark.covers("T112")
def test_a_function_that_fails_leaves_the_object_out_of_the_index_alone() -> None:
    reports: list[tuple[str, str]] = []
    store = Store(lambda key, error: reports.append(key))
    store.add_index("colour", colours_in)
    good, bad = made("one", "a", ["red"]), config_map("b", 1, namespace="one")
    for data in (good, bad):
        store.put(data, objects.header(data))
    assert len(store) == 2
    assert [*store.index("colour").keys("red")] == [("one", "a")]
    assert reports == [("one", "b")]
    broken = config_map("a", 2, namespace="one")
    store.put(broken, objects.header(broken))
    assert [*store.index("colour").keys("red")] == [], "what it was before is forgotten"
