"""Every function of every CEL environment has a charge, and the charge is found under the name that runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hack.schema.random_expressions import measured
from pilotage.schema.cel.admission.evaluation import AdmissionExpression, _functions, bound_of
from pilotage.schema.cel.admission.unevaluated import UNEVALUATED
from pilotage.schema.cel.ast import CallExpression, Expr, walk
from pilotage.schema.cel.costs.bounds import _PASSING
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
    bound = bound_of(sums, {"object": {"l": ["a"] * 1000, "s": "b" * 1000}})
    assert bound.bytes > 1000 * 1000


@pytest.mark.parametrize("text", ["lists.range(3)", "lists.range(size(object))"])
def test_a_short_range_in_a_loop_is_evaluated(text: str) -> None:
    assert AdmissionExpression(f"{text}.map(x, {text}).size() == 3").evaluate({"object": [1, 2, 3]}) is True


@pytest.mark.parametrize("seed", range(8))
def test_no_random_expression_takes_far_longer_than_its_bound(seed: int) -> None:
    """The benchmark of policies has the bound itself as the limit: here other programs may run on the same core."""
    ran = list(measured(seed, 40))
    assert [each.text for each in ran if each.nanoseconds > 10 * each.bound + 5e6] == []
    assert len(ran) > 10
