"""Every function of every CEL environment has a charge, and the charge is found under the name that runs."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pilotage.schema.cel.admission.budget import RequestBudget
from pilotage.schema.cel.admission.evaluation import AdmissionExpression, _bound, _functions
from pilotage.schema.cel.admission.unevaluated import UNEVALUATED
from pilotage.schema.cel.ast import CallExpression, Expr, walk
from pilotage.schema.cel.costs.bounds import _PASSING, Cost
from pilotage.schema.cel.costs.charges import CHARGES
from pilotage.schema.cel.expression import EvaluationError, compile_expression
from pilotage.schema.cel.functions import ENGINE_FUNCTIONS, FUNCTIONS
from pilotage.schema.cel.patterns import INDEXED, REPLACED
from pilotage.schema.cel.signatures import parsed, signatures
from pilotage.schema.structural.node import Tree

pytest.importorskip("cel_expr_python")

FREE = {"_&&_", "_||_", "!_", "@not_strictly_false", "__not_strictly_false__"}
DECLARED = {
    *signatures(),
    *(parsed(line)[0] for line in (*FUNCTIONS, *ENGINE_FUNCTIONS, *UNEVALUATED, *_functions())),
    *REPLACED.values(),
    *INDEXED.values(),
} - REPLACED.keys()
"""The functions of rules, policies, match conditions and device selectors, by the names that run."""
CALLS = (
    "lists.range(3).size() == 3",
    "lists.range(2).map(x, lists.range(2)).size() == 2",
    "'a'.matches('a')",
    "matches('a', 'a')",
    "['a'].transformMap(i, v, v) == {0: 'a'}",
    "[1, 2].min() == 1 && [1, 2].max() == 2",
    "['b', 'a'].sortBy(x, x)[0] == 'a'",
    "['b'].sort() == ['b'] && ['b'].isSorted() && [1].sum() == 1",
    "timestamp('2020-01-01T00:00:00Z').getHours('UTC') + 1 - 1 * 1 == 0",
    "optional.of(1).orValue(2) == 1 && optional.none().or(optional.of(1)).hasValue()",
    "'a,b'.split(',').join('-').replace('-', '+').indexOf('+') == 1",
    "'%s'.format(['a']) == 'a' && strings.quote('a') == '\"a\"'",
    "sets.contains([1], [1]) && [1, 1].distinct() == [1] && [[1]].flatten() == [1]",
    "isURL('http://a/b') && url('http://a/b?c=d').getQuery().size() == 1",
    "isQuantity('1') && quantity('1').add(quantity('1')).isGreaterThan(quantity('1'))",
    "isIP('::1') && ip('::1').family() == 6 && cidr('10.0.0.0/8').containsIP('10.0.0.1')",
    "format.dns1123Label().validate('a').hasValue() || true",
)


def _called(tree: Expr) -> Iterator[str]:
    return (node.function for node in walk(tree) if isinstance(node, CallExpression))


@pytest.mark.parametrize("name", sorted(DECLARED))
def test_every_declared_function_has_a_charge(name: str) -> None:
    assert name in CHARGES or name in _PASSING or name in FREE


@pytest.mark.parametrize("text", CALLS)
def test_the_functions_that_run_have_a_charge_in_rules_and_in_admission(text: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    rule = compile_expression(f"{text} || self.a == ''", Tree(None).node(schema))
    for tree in (rule.expr, AdmissionExpression(text)._tree):
        called = set(_called(tree))
        assert called <= {*CHARGES, *_PASSING, *FREE}
        assert not called & REPLACED.keys()


def test_a_function_without_a_charge_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(CHARGES, "trim")
    with pytest.raises(EvaluationError, match="cost limit"):
        AdmissionExpression("'a'.trim() == 'a'").evaluate({})


def test_a_bound_does_not_trust_the_types_of_the_checker() -> None:
    """The engine takes the items of `reverse` of a list of any type for integers."""
    sums = AdmissionExpression("object.l.reverse().map(x, x + object.s)")
    bound = _bound(sums._tree, {"object": {"l": ["a"] * 1000, "s": "b" * 1000}})
    assert bound.bytes > 1000 * 1000


@pytest.mark.parametrize("text", ["lists.range(3)", "lists.range(size(object))"])
def test_a_short_range_in_a_loop_is_evaluated(text: str) -> None:
    assert AdmissionExpression(f"{text}.map(x, {text}).size() == 3").evaluate({"object": [1, 2, 3]}) is True


DOCUMENT: dict[str, Any] = {
    "s": "ab" * 500,
    "n": list(range(300)),
    "l": [f"text {number}" for number in range(300)],
    "m": {f"k{number}": "v" * 10 for number in range(100)},
}
TEXTS = (
    "object.s",
    "'abc'",
    "({t} + {t})",
    "{t}.lowerAscii()",
    "{t}.replace('a', {t})",
    "{l}.join('-')",
    "string({n})",
)
LISTS = (
    "object.l",
    "{t}.split('b')",
    "{l}.map(x, x + {t})",
    "{l}.filter(x, dyn(x) != {t})",
    "({l} + {l})",
    "{i}.map(i, {t})",
    "{l}.sortBy(x, x)",
    "{l}.distinct()",
    "{l}.reverse()",
    "object.m.map(k, object.m[k])",
)
INTEGERS = (
    "object.n",
    "lists.range(200)",
    "lists.range({n})",
    "{i}.map(i, i + 1)",
    "{i}.sort()",
    "{i}.filter(i, i > 9)",
)
NUMBERS = ("{t}.size()", "{l}.size()", "{i}.size()", "{i}.sum()", "{l}.indexOf({t})", "7")
TESTS = (
    "{t} == {t}",
    "{l} == {l}",
    "{l}.all(x, {t} != dyn(x))",
    "{l}.exists(x, string(dyn(x)).contains({t}))",
    "{i}.all(i, {i}.exists(j, i == j))",
    "sets.contains({l}, {l})",
    "{n} in {i}",
    "{t}.startsWith({t})",
    "{l}.transformMap(i, v, v).size() > {n}",
    "{i}.map(i, {i}).size() > 0",
    "'%s %s'.format([{t}, {n}]) != ''",
    "{i}.isSorted() && {l}.isSorted()",
)
KINDS = {"t": TEXTS, "l": LISTS, "i": INTEGERS, "n": NUMBERS, "b": TESTS}


def _random(choose: random.Random, kind: str, depth: int) -> str:
    """A random expression; the first ones of a kind have no parts."""
    text = choose.choice(KINDS[kind][: 1 if depth <= 0 and kind != "b" else None])
    for part in KINDS:
        while f"{{{part}}}" in text:
            text = text.replace(f"{{{part}}}", _random(choose, part, depth - 1), 1)
    return text


def _seconds(work: Callable[[], object]) -> float:
    begin = time.thread_time_ns()
    work()
    return float(time.thread_time_ns() - begin)


@pytest.mark.parametrize("seed", range(8))
def test_the_time_of_random_expressions_stays_below_the_bound(seed: int) -> None:
    choose = random.Random(seed)
    ran = 0
    for _ in range(40):
        text = _random(choose, "b", 3)
        expression = AdmissionExpression(text)
        bound = _bound(expression._tree, {"object": DOCUMENT})
        if not _is_allowed(bound):
            continue
        ran += 1
        took = min(_seconds(lambda: _outcome(expression)) for _ in range(2))  # noqa: B023 - called at once
        assert took < bound.nanoseconds + 100_000, text
    assert ran > 10


def _is_allowed(bound: Cost) -> bool:
    try:
        RequestBudget().check(bound)
    except EvaluationError:
        return False
    return bound.nanoseconds < 60e6


def _outcome(expression: AdmissionExpression) -> object:
    try:
        return expression.evaluate({"object": DOCUMENT})
    except EvaluationError as error:
        return error
