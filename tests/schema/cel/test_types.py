from __future__ import annotations

import pytest

from pilotage.schema.cel.types import DYN, INT, STRING, UNKNOWN, CELType, TypeMatch, join, list_of, parse


@pytest.mark.parametrize("text", ["int", "list(string)", "map(string, list(map(string, int)))", "optional_type(dyn)"])
def test_a_type_is_read_from_its_name(text: str) -> None:
    assert str(parse(text)) == text


@pytest.mark.parametrize(
    ("wanted", "found", "accepted"),
    [
        ("int", "int", True),
        ("int", "string", False),
        ("int", "dyn", True),
        ("list(int)", "list(dyn)", True),
        ("list(int)", "list(string)", False),
        ("list(A)", "map(string, int)", False),
        ("timestamp", "null_type", True),
        ("string", "null_type", False),
    ],
)
def test_an_argument_has_the_declared_type_or_any_type(wanted: str, found: str, accepted: bool) -> None:
    assert TypeMatch().accepts(parse(wanted), parse(found)) is accepted


def test_a_parameter_stands_for_one_type_in_a_call() -> None:
    match = TypeMatch()
    assert match.accepts(parse("list(A)"), list_of(STRING))
    assert match.accepts(parse("A"), STRING)
    assert not match.accepts(parse("A"), INT)
    assert match.resolved(parse("map(string, A)")) == parse("map(string, string)")


def test_the_items_of_an_empty_list_take_the_type_of_the_others() -> None:
    match = TypeMatch()
    assert match.accepts(parse("list(A)"), list_of(UNKNOWN))
    assert match.accepts(parse("list(A)"), list_of(STRING))
    assert match.resolved(parse("A")) == STRING
    assert join([list_of(UNKNOWN), list_of(UNKNOWN)]) == list_of(UNKNOWN)


def test_values_of_several_types_have_any_type() -> None:
    assert join([INT, INT]) == INT
    assert join([INT, STRING]) == DYN


def test_objects_at_two_places_of_a_schema_have_two_types() -> None:
    assert not TypeMatch().accepts(CELType(".self.a"), CELType(".self.b"))
    assert str(CELType(".self.a")) == "object"
