from __future__ import annotations

from typing import Any

import pytest

from pilotage.schema.definition import apply_definition_defaults, definition_causes
from pilotage.schema.definition.rulecosts import ProgramBudget, RuleCosts

AT = "spec.validation.openAPIV3Schema"
FOREVER = "self.all(x, self.all(y, x == y))"


def definition(items: dict[str, Any]) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"list": {"type": "array", **items}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "gadgets", "kind": "Gadget"}
    spec = {"group": "demo.dev", "scope": "Namespaced", "names": names, "versions": [version]}
    result: dict[str, Any] = {"metadata": {"name": "gadgets.demo.dev"}, "spec": spec}
    apply_definition_defaults(result)
    return result


def costs(**costs: int) -> RuleCosts:
    found = RuleCosts(ProgramBudget(), unchanged=True)
    for name, cost in costs.items():
        assert list(found.spend(name, cost)) == []
    return found


@pytest.mark.parametrize(
    ("cost", "shown"),
    [(10_000_001, "1.000000x"), (14_000_000, "1.400000x"), (31_480_000, "3.1x"), (10**10, "more than 100x")],
)
def test_a_rule_above_the_limit_is_forbidden_with_the_factor(cost: int, shown: str) -> None:
    (cause,) = RuleCosts(ProgramBudget()).spend("a.rule", cost)
    assert (cause.reason, cause.field) == ("FieldValueForbidden", "a.rule")
    assert f"estimated rule cost exceeds budget by factor of {shown} (try" in cause.message


def test_a_rule_at_the_limit_is_accepted() -> None:
    assert list(RuleCosts(ProgramBudget()).spend("a.rule", 10_000_000)) == []


def test_the_most_expensive_rules_of_an_expensive_schema_are_named_first() -> None:
    found = costs(a=40_000_000, b=999_999, c=30_000_000, d=2_000_000, e=30_000_000, f=1_000_000)
    assert [cause.field for cause in found.causes(AT)] == ["a", "c", "e", "d", AT]
    assert list(costs(a=100_000_000).causes(AT)) == []


def test_an_expensive_rule_may_stay_in_a_schema_that_does_not_change() -> None:
    rule = {"x-kubernetes-validations": [{"rule": FOREVER}]}
    old = definition({"items": {"type": "integer"}, "maxItems": 3000, **rule})
    assert [cause.reason for cause in definition_causes(old)] == ["FieldValueForbidden"]
    assert definition_causes(old, old) == []
    other = definition({"items": {"type": "integer"}, "maxItems": 2900, **rule})
    assert [cause.reason for cause in definition_causes(other, old)] == ["FieldValueForbidden"]


def test_a_rule_inside_lists_runs_as_often_as_they_have_items() -> None:
    item = {"type": "string", "maxLength": 250, "x-kubernetes-validations": [{"rule": "self.contains('a')"}]}
    assert definition_causes(definition({"items": item, "maxItems": 90_000})) == []
    assert len(definition_causes(definition({"items": item, "maxItems": 100_000}))) == 1
    inner = {"type": "array", "items": item, "maxItems": 1000}
    assert len(definition_causes(definition({"items": inner, "maxItems": 100}))) == 1
    assert definition_causes(definition({"items": inner, "maxItems": 90})) == []
