"""The objects as a list, each below its owner."""

from __future__ import annotations

from collections.abc import Iterable

from pilotage.dashboard.state.objects import ObjectIndex, matcher
from pilotage.history.secrets import Hider
from pilotage.meta.kinds import GroupVersionKind
from pilotage.reflector.intake import Item
from tests.counting import counted_lines
from tests.dashboard.records import BOOK, book

SECRET = GroupVersionKind("", "v1", "Secret")


def items(*found: tuple[str, bytes]) -> list[Item]:
    return [Item("default", name, data) for name, data in found]


def updated(index: ObjectIndex, found: Iterable[Item], kind: GroupVersionKind = BOOK) -> int:
    """Take the objects; how many were read."""
    return sum(1 for _ in index.update([(kind, [*found])]))


def names(index: ObjectIndex) -> list[tuple[str, int]]:
    return [(placed.facts.name, placed.depth) for placed in index.order]


def test_an_object_is_below_its_owner() -> None:
    index = ObjectIndex()
    updated(index, items(("b", book("b", owners=["a"])), ("c", book("c", owners=["b"])), ("a", book("a"))))
    assert names(index) == [("a", 0), ("b", 1), ("c", 2)]


def test_owners_in_a_circle_are_listed_once() -> None:
    index = ObjectIndex()
    updated(
        index, items(("a", book("a", owners=["b"])), ("b", book("b", owners=["a"])), ("c", book("c", owners=["c"])))
    )
    assert sorted(name for name, _ in names(index)) == ["a", "b", "c"]


def test_objects_with_one_uid_are_all_listed() -> None:
    index = ObjectIndex()
    updated(index, items(("a", book("a")), ("b", book("a"))))
    assert names(index) == [("a", 0), ("b", 0)]


def test_a_long_chain_of_owners_ends_at_a_depth() -> None:
    index = ObjectIndex()
    chain = ((f"n{each}", book(f"n{each}", owners=[f"n{each - 1}"])) for each in range(3000))
    updated(index, items(*chain))
    assert len(index.order) == 3000
    assert max(depth for _, depth in names(index)) == 20


def test_only_objects_that_have_changed_are_read_again() -> None:
    index, found = ObjectIndex(), items(*((str(each), book(str(each))) for each in range(100)))
    assert updated(index, found) == 100
    order = index.order
    found[7] = Item("default", "7", book("7", version=2))
    assert updated(index, found) == 1
    assert index.order is order
    assert index.find("Book.books.pilotage.dev", "default", "7") is not None
    assert next(placed.facts.version for placed in order if placed.facts.name == "7") == "2"


def test_the_order_follows_objects_that_come_go_and_change_owners() -> None:
    index = ObjectIndex()
    updated(index, items(("a", book("a")), ("b", book("b"))))
    assert names(index) == [("a", 0), ("b", 0)]
    updated(index, items(("a", book("a", owners=["b"])), ("b", book("b"))))
    assert names(index) == [("b", 0), ("a", 1)]
    updated(index, items(("b", book("b"))))
    assert names(index) == [("b", 0)]
    updated(index, items(("c", book("c"))))  # as many as before
    assert names(index) == [("c", 0)]
    assert [*index.update([])] == []
    assert names(index) == []


def test_a_changed_copy_leaves_the_list_as_it_is() -> None:
    index = ObjectIndex()
    updated(index, items(("a", book("a", version=2)), ("b", book("b"))))
    past = index.changed({(BOOK, "default", "a"): book("a"), (BOOK, "default", "b"): None})
    assert [(placed.facts.name, placed.facts.version) for placed in past.order] == [("a", "1")]
    assert [(placed.facts.name, placed.facts.version) for placed in index.order] == [("a", "2"), ("b", "1")]


def found_by(search: str, data: bytes, kind: GroupVersionKind = BOOK, *, secret_fields: tuple[str, ...] = ()) -> bool:
    index = ObjectIndex()
    updated(index, items(("a", data)), kind)
    matches = matcher(search, "", Hider(secret_fields, b"key"), hides_fields=bool(secret_fields))
    return matches(index.order[0].facts)


def test_a_search_finds_words_in_the_name_and_in_values() -> None:
    data = book(spec={"title": "Ulysses"})
    assert found_by("book default/a", data)
    assert found_by("ulysses a", data)
    assert not found_by("ulysses b-side", data)


def test_a_search_does_not_reveal_hidden_values() -> None:
    assert not found_by("aHVudGVy", book(data={"password": "aHVudGVy"}), SECRET)
    assert found_by("secret", book(data={}), SECRET)
    data = book(spec={"password": "hunter2", "title": "x-ray"})
    assert found_by("hunter2", data)
    assert not found_by("hunter2", data, secret_fields=("spec.password",))
    assert found_by("x-ray", data, secret_fields=("spec.password",))


def test_looking_at_unchanged_objects_costs_few_lines() -> None:
    index, found = ObjectIndex(), items(*((str(each), book(str(each))) for each in range(1000)))
    updated(index, found)
    with counted_lines() as lines:
        updated(index, found)
    assert lines.count <= 8 * 1000
