"""jq expressions: what they give, compared with what gojq gave, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.workloads.stages.jq.query import Query, SyntaxProblem
from pilotage.workloads.stages.jq.values import QueryFailed, Whole

RECORDED = json.loads((Path(__file__).parent / "gojq.json").read_text())
"""Expressions over one document, with the answers of gojq 0.12.19 as kwok calls it: without nulls; `integers` are the
outputs that are ints of Go. `fails`: always (it does not compile), or here (for this document)."""
DOCUMENT = RECORDED["document"]


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["expression"])
def test_an_expression_gives_what_gojq_gives(case: dict[str, Any]) -> None:
    if case.get("fails") == "always":
        with pytest.raises(SyntaxProblem):
            Query(case["expression"])
        return
    outputs = Query(case["expression"]).execute(DOCUMENT)
    assert outputs == case.get("values")
    assert [isinstance(value, Whole) for value in outputs or []] == case.get("integers", [])


UNSUPPORTED = {
    "1 as $x | $x": "as is not supported here",
    "reduce .[] as $x (0; . + 1)": "reduce is not supported here",
    ".a = 1": "= is not supported here",
    ".a |= 1": "|= is not supported here",
    ".a += 1": "+= is not supported here",
    "@base64": "@base64 is not supported here",
    "$ENV": "$ENV is not supported here",
    r'"a\(1)b"': "interpolation in strings is not supported here",
    "try error catch .": "try is not supported here",
    "def f: 1; f": "def is not supported here",
    "[limit(2; .[])]": "the function limit/2 is not supported here",
    "now": "the function now/0 is not supported here",
    "select(.a; .b)": "the function select takes 1 arguments, not 2",
    "length(1)": "the function length takes 0 arguments, not 1",
    ".a[": "the expression ends too early, expected a string or an integer",
    ".a )": "unexpected ')'",
    '"abc': "the string does not end",
    r'"\q"': r'"\q" is not a valid string',
    ".a & .b": "unexpected '&'",
    "if .a then 1 else 2 end": "if is not supported here",
    "1" * 400: "the number is too long",
    ".. | .a": ".. is not supported here",
    ".[1:]": ": is not supported here",
    ".[.a]": "unexpected 'a', expected a string or an integer",
    "{a: 1}": "{ is not supported here",
    "2 * 3": "* is not supported here",
    "[3, 1] | sort": "the function sort/0 is not supported here",
}


@pytest.mark.parametrize(("expression", "message"), UNSUPPORTED.items(), ids=lambda text: text[:30])
def test_what_is_not_supported_is_named(expression: str, message: str) -> None:
    with pytest.raises(SyntaxProblem) as raised:
        Query(expression)
    assert str(raised.value) == message


def test_a_problem_has_its_position() -> None:
    with pytest.raises(SyntaxProblem) as raised:
        Query(".a | reduce .b")
    assert raised.value.position == 5


def test_a_document_that_is_too_deep_is_refused() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(QueryFailed, match="nested too deeply"):
        Query(". == .").execute({"a": deep})


@pytest.mark.parametrize("expression", ["[1] - [1]", "[1] < [2]"])
def test_an_operation_that_is_not_supported_is_not_an_expression_without_outputs(expression: str) -> None:
    with pytest.raises(QueryFailed, match="is not supported here"):
        Query(expression).execute({})


def test_an_expression_that_fails_after_an_output_has_none() -> None:
    assert Query(".a, (.a | .b)").execute({"a": "x"}) is None


WORDS = """. .a [ ] ( ) { } | , // ? == < and or not + - * / % select( map( any length 1 "s" null true : ; if then else
end .. .[] all( add 1e9 first join( tostring tonumber test( ["a"] # " \\ é \x00"""
PIECES = st.sampled_from(WORDS.split())


@given(st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=25).map(" ".join)))
def test_any_text_is_an_expression_or_a_problem(text: str) -> None:
    try:
        outputs = Query(text).execute({"a": {"b": [1, "x", None, True, {"c": 2.5}]}, "n": 10**400})
    except (SyntaxProblem, QueryFailed):
        return
    assert outputs is None or None not in outputs
