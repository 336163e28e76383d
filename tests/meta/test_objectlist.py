"""A lazy list: what it costs, and what it keeps."""

from __future__ import annotations

import weakref
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.meta import ObjectList
from pilotage.rest import Bytes


def made(count: int, touched: list[int]) -> ObjectList[list[str]]:
    def read(data: Bytes) -> list[str]:
        number = int(bytes(data).partition(b'"number-')[2].partition(b'"')[0])
        touched.append(number)
        return [f"object {number}"]

    items = [b'{"metadata":{"name":"number-%d","labels":{"a":"b"}}}' % number for number in range(count)]
    return ObjectList(items, read, resource_version="7", continue_token="next", remaining_item_count=9)


def test_length_and_headers_decode_no_object() -> None:
    touched: list[int] = []
    objects = made(3, touched)
    assert len(objects) == 3
    assert objects.names == ["number-0", "number-1", "number-2"]
    assert [header.labels for header in objects.headers] == [{"a": "b"}] * 3
    assert bool(objects)
    assert touched == []


def test_an_item_is_decoded_once_when_it_is_touched() -> None:
    touched: list[int] = []
    objects = made(3, touched)
    assert objects[1] is objects[1] is objects[-2]
    assert touched == [1]
    assert [item[0] for item in objects] == ["object 0", "object 1", "object 2"]
    assert touched == [1, 0, 2]


class Thing:
    """What a list is made of, and can be counted."""


def counted(count: int) -> tuple[ObjectList[Thing], weakref.WeakSet[Thing]]:
    alive: weakref.WeakSet[Thing] = weakref.WeakSet()

    def read(data: Bytes) -> Thing:
        thing = Thing()
        alive.add(thing)
        return thing

    return ObjectList([b"{}"] * count, read), alive


def test_a_list_that_only_a_loop_refers_to_keeps_no_items() -> None:
    things, alive = counted(5)
    walk = iter(things)
    first = next(walk)
    del things
    assert [len(alive) for _ in walk] == [2, 2, 2, 2]  # the first one, and that of the loop
    assert first in alive


def test_changes_of_a_first_loop_are_seen_in_a_second_one() -> None:
    objects = made(3, [])
    for item in objects:
        item.append("changed")
    assert all("changed" in item for item in objects)
    assert all("changed" in item for item in objects[1:])


def test_a_walk_over_a_slice_keeps_items_while_there_is_the_list_or_the_slice() -> None:
    things, alive = counted(3)
    part = things[1:]
    assert len([*map(bool, things[1:])]) == 2
    del things
    assert len(alive) == 2
    assert list(part) == [*part]
    del part
    assert not alive


def test_a_slice_is_as_lazy_and_shares_its_items() -> None:
    touched: list[int] = []
    objects = made(5, touched)
    part = objects[1:3]
    assert (len(part), touched, part.resource_version) == (2, [], "7")
    assert (part.continue_token, part.remaining_item_count) == ("", None)
    assert part[0] is objects[1]
    assert touched == [1]


def test_it_is_a_sequence() -> None:
    objects = made(3, [])
    assert isinstance(objects, Sequence)
    assert objects.index(["object 2"]) == 2
    assert ["object 1"] in objects
    assert next(reversed(objects)) == ["object 2"]
    with pytest.raises(IndexError):
        _ = objects[3]
    assert repr(objects) == "<ObjectList of 3 at version 7, and more to come>"


@given(st.integers(0, 6), st.slices(6))
def test_slices_are_those_of_a_list(count: int, part: slice) -> None:
    objects = made(count, [])
    assert list(objects[part]) == list(objects)[part]
