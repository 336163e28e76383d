from __future__ import annotations

import pytest

from pilotage.schema.cel import environment
from pilotage.schema.cel.ast import read_expr
from pilotage.schema.cel.costs import LIMIT
from pilotage.schema.cel.costs.estimate import Estimate, estimate
from pilotage.schema.cel.declared import DeclaredValue
from pilotage.schema.structural.node import Tree

TEXT = {"type": "string", "maxLength": 10}
SCHEMA = {
    "type": "object",
    "properties": {
        "text": TEXT,
        "long": {"type": "string"},
        "number": {"type": "integer"},
        "list": {"type": "array", "maxItems": 5, "items": {"type": "object", "properties": {"name": TEXT}}},
        "map": {"type": "object", "maxProperties": 3, "additionalProperties": TEXT},
    },
}


def estimated(rule: str, *, optional_old: bool = False) -> Estimate:
    tree = read_expr(environment.untyped().compile(rule).serialize())
    return estimate(tree, DeclaredValue(Tree(None).node(SCHEMA)), optional_old=optional_old)


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        ("true", 0),
        ("self.number > 1", 3),  # two names, one comparison
        ("has(self.text)", 1),
        ("self.text == 'abc'", 3),  # as many characters as the shorter one has
        ("self.text == self.text", 8),  # 40 bytes
        ("self.text.contains('a')", 6),
        ("self.text.matches('abcdefgh')", 12),  # (40 + 1) * 0.1 * 8 * 0.25
        ("self.list.all(x, true)", 18),  # for each item: the accumulator twice, and @not_strictly_false
        ("self.number > 1 ? self.text == self.text : true", 11),
    ],
)
def test_the_cost_is_that_of_the_largest_value(rule: str, cost: int) -> None:
    assert estimated(rule).cost == cost


def test_the_size_of_what_an_optional_has_is_not_known() -> None:
    assert estimated("self.text.contains('a')").cost < 10
    assert estimated("self.?text.orValue('').contains('a')").cost > LIMIT // 100


def test_loops_multiply() -> None:
    one, two = estimated("self.list.all(x, true)"), estimated("self.list.all(x, self.list.all(y, true))")
    assert 4 * one.cost < two.cost < 7 * one.cost


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("self.list.map(x, x.name)", "list(string)"),
        ("self.list.filter(x, x.name == 'a')[0].name", "string"),
        ("self.map.transformList(k, v, k + v)", "list(string)"),
        ("self.?map['a']", "optional_type(string)"),
        ("self.?number.optMap(n, string(n)).orValue('')", "string"),
        ("quantity(self.text).add(1)", "kubernetes.Quantity"),
        ("type(self.text)", "type"),
        ("self.list", "list(object)"),
    ],
)
def test_the_type_follows_from_the_schema(rule: str, kind: str) -> None:
    found = estimated(rule)
    assert (str(found.type), found.problems) == (kind, ())


@pytest.mark.parametrize(
    ("rule", "message", "at"),
    [
        ("self.text == 1", "found no matching overload for '_==_' applied to '(string, int)'", "=="),
        ("self.list.all(x, x.size > 1)", "undefined field 'size'", ".size"),
        ("self.text.name == 1", "type 'string' does not support field selection", ".name"),
        ("self.text.all(x, true)", "cannot be range of a comprehension", "self"),
        ("[self.text, self.number] == []", "expected type 'string' but found 'int'", ".number"),
    ],
)
def test_a_wrong_type_is_reported_where_it_is(rule: str, message: str, at: str) -> None:
    (problem,) = estimated(rule).problems
    assert message in problem.message
    assert problem.offset == rule.index(at)


def test_an_optional_old_value_is_no_object() -> None:
    assert estimated("oldSelf.text == self.text").problems == ()
    assert len(estimated("oldSelf.text == self.text", optional_old=True).problems) == 1
    assert estimated("oldSelf.hasValue() && oldSelf.value().text == self.text", optional_old=True).problems == ()
