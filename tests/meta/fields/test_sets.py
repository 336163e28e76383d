"""Field sets: the laws of sets hold for paths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pilotage.meta.fields import sets
from pilotage.meta.fields.sets import FieldSet

ELEMENTS = st.sampled_from(["f:a", "f:b", 'k:{"name":"a"}', 'v:"x"'])
PATHS = st.sets(st.lists(ELEMENTS, min_size=1, max_size=4).map(tuple), max_size=12)


def members(fields: FieldSet) -> set[tuple[str, ...]]:
    return set(sets.paths(fields))


@given(PATHS)
def test_a_set_has_the_paths_that_it_was_made_of(paths: set[tuple[str, ...]]) -> None:
    made = sets.from_paths(paths)
    assert members(made) == paths
    assert all(sets.has(made, path) for path in paths)


@given(PATHS, PATHS)
def test_the_algebra_is_that_of_sets_of_paths(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> None:
    first, second = sets.from_paths(one), sets.from_paths(other)
    assert members(sets.union(first, second)) == one | other
    assert members(sets.difference(first, second)) == one - other
    assert members(sets.intersection(first, second)) == one & other
    assert sets.intersects(first, second) == bool(one & other)
    assert sets.includes(first, second) == (other <= one)
    assert (members(first), members(second)) == (one, other), "the operands stay as they are"


@given(PATHS, PATHS)
def test_without_removes_members_with_all_that_is_below_them(
    one: set[tuple[str, ...]], other: set[tuple[str, ...]]
) -> None:
    left = {path for path in one if not any(path[: len(gone)] == gone for gone in other)}
    assert members(sets.without(sets.from_paths(one), sets.from_paths(other))) == left


@given(PATHS, PATHS)
def test_equal_sets_are_equal_data(one: set[tuple[str, ...]], other: set[tuple[str, ...]]) -> None:
    """There is one form of each set: in whatever way it came about, it is written the same."""
    joined = sets.union(sets.from_paths(one), sets.from_paths(other))
    assert joined == sets.union(sets.from_paths(other), sets.from_paths(one)) == sets.from_paths(one | other)
    assert sets.difference(joined, sets.from_paths(other)) == sets.from_paths(one - other)
    assert sets.intersection(joined, sets.from_paths(other)) == sets.from_paths(other)


def test_a_member_with_more_below_it_is_marked() -> None:
    assert sets.from_paths([("f:data",), ("f:data", "f:key")]) == {"f:data": {".": {}, "f:key": {}}}
    assert sets.below({"f:data": {".": {}, "f:key": {}}}, "f:data") == {"f:key": {}}
