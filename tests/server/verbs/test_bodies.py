from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import BadRequest, Invalid
from pilotage.meta import jsontext
from pilotage.rest.request import Request, Verb, WriteOptions
from pilotage.server.verbs import bodies
from pilotage.server.verbs.bodies import FieldProblems, mismatch

from ..registries import CONFIG_MAPS, opened


class Pairs(list[tuple[str, Any]]):
    """An object that may have a key twice."""


KEYS = st.text(st.sampled_from('a":\\ b'), max_size=4)
VALUES = st.recursive(
    st.text(st.sampled_from('a":\\ é'), max_size=6) | st.integers(0, 9),
    lambda children: st.lists(children, max_size=3) | st.lists(st.tuples(KEYS, children), max_size=3).map(Pairs),
    max_leaves=8,
)


def written(value: Any, gap: str, ascii_only: bool) -> str:
    if isinstance(value, Pairs):
        pairs = (
            json.dumps(key, ensure_ascii=ascii_only) + gap + ":" + written(item, gap, ascii_only) for key, item in value
        )
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ",".join(written(item, gap, ascii_only) for item in value) + "]"
    if isinstance(value, str) and ascii_only:
        return '"' + "".join("\\u0022" if one == '"' else json.dumps(one)[1:-1] for one in value) + '"'
    return json.dumps(value, ensure_ascii=ascii_only)


@given(VALUES, st.sampled_from(["", " ", "\n\t"]), st.booleans())
def test_counting_never_misses_a_key_given_twice(value: Any, gap: str, ascii_only: bool) -> None:
    text = written(value, gap, ascii_only).encode()
    assert bodies.duplicate_fields(text, jsontext.read(text)) == jsontext.duplicate_fields(text)


@pytest.mark.parametrize(("validation", "warnings"), [("", 3), ("Warn", 3), ("Ignore", 0)])
async def test_problems_are_warnings_unless_asked_otherwise(validation: str, warnings: int) -> None:
    async with opened() as api:
        info = await api.registry.context.catalogue.find(CONFIG_MAPS)
    problems = FieldProblems(unknown=["spec.b", "spec.a"], duplicate=["spec.a"])
    request = Request(Verb.CREATE, CONFIG_MAPS, write=WriteOptions(field_validation=validation))
    assert len(problems.report(request, info)) == warnings


async def test_strict_problems_are_an_error_that_names_them_in_order() -> None:
    async with opened() as api:
        info = await api.registry.context.catalogue.find(CONFIG_MAPS)
    problems = FieldProblems(unknown=["spec.b", "spec.a"], duplicate=["spec.a"])
    words = 'strict decoding error: unknown field "spec.a", unknown field "spec.b", duplicate field "spec.a"'
    strict = WriteOptions(field_validation="Strict")
    with pytest.raises(BadRequest, match=words):
        problems.report(Request(Verb.CREATE, CONFIG_MAPS, write=strict), info)
    with pytest.raises(Invalid, match=words):
        problems.report(Request(Verb.PATCH, CONFIG_MAPS, name="x", write=strict), info)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Expected `str`, got `int` - at `$.labels[...]`",
            "json: cannot unmarshal number into field metadata.labels of type string",
        ),
        (
            "Expected `int | null`, got `str` - at `$.generation`",
            "json: cannot unmarshal string into field metadata.generation of type number",
        ),
        ("Expected `object`, got `array`", "json: cannot unmarshal array into field metadata of type object"),
        ("Something else - at `$.name`", "json: Something else - at metadata.name"),
    ],
)
def test_wrong_types_are_told_in_words_of_json(message: str, expected: str) -> None:
    assert mismatch(message, "metadata") == expected
