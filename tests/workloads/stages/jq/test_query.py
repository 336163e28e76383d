"""jq expressions: what they give, compared with what gojq gave, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.workloads.stages.jq.limits import LimitExceeded
from pilotage.workloads.stages.jq.operators import Whole
from pilotage.workloads.stages.jq.query import Query, SyntaxProblem

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
    ".a = 1": "the operator = is not supported here",
    ".a |= 1": "the operator |= is not supported here",
    ".a += 1": "the operator += is not supported here",
    "@base64": "@base64 is not supported here",
    "$ENV": "$ENV is not supported here",
    r'"a\(1)b"': "interpolation in strings is not supported here",
    "try error catch .": "try is not supported here",
    "def f: 1; f": "def is not supported here",
    "[limit(2; .[])]": "the function limit/2 is not supported here",
    "now": "the function now/0 is not supported here",
    "select(.a; .b)": "the function select takes 1 arguments, not 2",
    "length(1)": "the function length takes 0 arguments, not 1",
    ".a[": "the expression ends too early",
    ".a )": "unexpected ')'",
    '"abc': "the string does not end",
    r'"\q"': r'"\q" is not a valid string',
    ".a & .b": "unexpected '&'",
    "if 1 then 2": "the expression ends too early, expected 'end'",
    "1" * 400: "the number is too long",
    "(" * 40 + "1" + ")" * 40: "the expression is nested deeper than 25 levels",
    "|".join(["."] * 300): "the expression has more than 250 tokens",
    " " * 20_000: "the expression has 20000 characters; at most 10000 are read",
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


@pytest.mark.parametrize(
    "expression",
    [
        "[range(1000000)]",
        '"abc" * 1000000',
        "[range(9999)] | map(. + 1) | map(. + 1) | map(. + 1) | map(. + 1) | map(. + 1)",
        "[range(3000)] - [range(3000)]",
        "[range(3000)] | contains([range(3000)])",
        "[.[], .[], .[], .[], .[], .[], .[], .[]]" + " | [.[], .[], .[], .[], .[], .[], .[], .[]]" * 5,
        "[range(1e300)]",
        '"x" * 1e300',
        '[range(2000)] | map("0123456789" * 100) | join("0123456789" * 100)',
    ],
)
def test_an_expression_that_would_do_too_much_is_stopped(expression: str) -> None:
    with pytest.raises((LimitExceeded, SyntaxProblem)):
        Query(expression).execute({"a": 1, "b": 2})


def test_a_document_that_is_too_deep_is_refused() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(LimitExceeded, match="nested too deeply"):
        Query(". == .").execute({"a": deep})


def test_an_expression_that_fails_after_an_output_has_none() -> None:
    assert Query(".a, (.a | .b)").execute({"a": "x"}) is None


WORDS = """. .a [ ] ( ) { } | , // ? == < and or not + - * / % select( map( any length 1 "s" null true : ; if then else
end .. .[] range( add 1e9 first sort_by( tostring tonumber test( ["a"] # " \\ é \x00"""
PIECES = st.sampled_from(WORDS.split())


@given(st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=25).map(" ".join)))
def test_any_text_is_an_expression_or_a_problem(text: str) -> None:
    try:
        outputs = Query(text).execute({"a": {"b": [1, "x", None, True, {"c": 2.5}]}, "n": 10**400})
    except (SyntaxProblem, LimitExceeded):
        return
    assert outputs is None or None not in outputs
