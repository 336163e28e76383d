from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import pytest

from pilotage.errors import Cause
from pilotage.schema.cel.expression import CompileError, compile_expression
from pilotage.schema.cel.source import escaped
from pilotage.schema.structural import StructuralSchema
from pilotage.schema.structural.node import Tree


def schema_of(properties: dict[str, Any], *rules: Any) -> StructuralSchema:
    validations = [rule if isinstance(rule, dict) else {"rule": rule} for rule in rules]
    spec = {"type": "object", "properties": properties, "x-kubernetes-validations": validations}
    return StructuralSchema.compile({"type": "object", "properties": {"spec": spec}})


def messages(schema: StructuralSchema, spec: Any, old: Any = None) -> list[str]:
    before = {"spec": old} if old is not None else None
    return [cause.message for cause in schema.validate({"spec": spec}, before)]


INTEGER = {"type": "integer"}
TEXT = {"type": "string"}


def test_a_rule_that_does_not_hold_is_a_cause_at_its_place() -> None:
    schema = schema_of({"a": INTEGER}, {"rule": "self.a < 3", "message": " small please "})
    assert schema.validate({"spec": {"a": 2}}) == []
    assert schema.validate({"spec": {"a": 3}}) == [
        Cause("FieldValueInvalid", "Invalid value: small please", "spec"),
    ]


def test_dates_and_durations_are_typed_at_every_depth() -> None:
    stamp = {"type": "string", "format": "date-time"}
    properties = {
        "list": {"type": "array", "items": {"type": "object", "properties": {"at": stamp, "n": TEXT}}},
        "for": {"type": "string", "format": "duration", "nullable": True},
        "bytes": {"type": "string", "format": "byte"},
        "day": {"type": "string", "format": "date"},
    }
    schema = schema_of(
        properties,
        "!has(self.list) || self.list.all(x, !has(x.at) || x.at < timestamp('2020-01-01T00:00:00Z'))",
        "!has(self.__for__) || self.__for__ == null || self.__for__ > duration('1s')",
        "!has(self.bytes) || self.bytes == b'hi'",
        "!has(self.day) || self.day.getFullYear() == 2020",
    )
    assert messages(schema, {"list": [{"at": "2019-01-01T00:00:00Z", "n": "x"}, {}], "for": None}) == []
    assert len(messages(schema, {"list": [{"at": "2021-01-01T00:00:00Z"}], "for": "1ms"})) == 2
    assert messages(schema, {"bytes": "aGk=", "day": "2020-05-05"}) == []
    assert len(messages(schema, {"bytes": "aGo=", "day": "2021-05-05"})) == 2


@pytest.mark.parametrize(
    ("rule", "answer"),
    [
        ("has(self.text) || has(self.object) || has(self.nested.list)", "failed rule"),
        ("self.object == null", "no such key: object"),
        ("has(self.object.x)", "no such key: object"),
        ("self.number == 1", "no such key: number"),
        ("has(self.map.k) && 'k' in self.map && size(self.map) == 1", ""),
        ("!has(self.other) && self == self", ""),
    ],
)
def test_a_field_that_is_null_is_absent_in_rules_and_a_value_of_a_map_is_not(rule: str, answer: str) -> None:
    properties = {
        "text": {"type": "string", "nullable": True},
        "number": {"type": "integer", "nullable": True},
        "object": {"type": "object", "nullable": True, "properties": {"x": {"type": "string"}}},
        "nested": {"type": "object", "properties": {"list": {"type": "array", "nullable": True, "items": TEXT}}},
        "map": {"type": "object", "additionalProperties": {"type": "string", "nullable": True}},
        "other": TEXT,
    }
    spec = {"text": None, "number": None, "object": None, "nested": {"list": None}, "map": {"k": None}}
    found = messages(schema_of(properties, rule), spec)
    assert [answer in message for message in found] == ([True] if answer else [])


def test_numbers_are_doubles_and_integers_are_integers() -> None:
    schema = schema_of({"n": {"type": "number"}, "i": INTEGER}, "type(self.n) == double && type(self.i) == int")
    assert messages(schema, {"n": 2, "i": 2}) == []
    assert messages(schema, {"n": 2.5, "i": 2}) == []


@pytest.mark.parametrize(
    ("rule", "spec"),
    [
        ("self.i > 0", {"i": 2.0}),
        ("self.list.all(x, x > 0)", {"list": [2.0]}),
        ("self.map['a'] != 3", {"map": {"a": 2.0}}),
    ],
    ids=["field", "item", "value"],
)
def test_a_whole_float_in_an_integer_field_is_an_error_of_the_rules_that_use_it(rule: str, spec: Any) -> None:
    properties = {
        "i": INTEGER,
        "list": {"type": "array", "items": INTEGER},
        "map": {"type": "object", "additionalProperties": INTEGER},
    }
    text = f'Invalid value: "object": invalid data, expected int, got float64 evaluating rule: {rule}'
    assert messages(schema_of(properties, rule), spec) == [text]
    assert messages(schema_of(properties, "true"), spec) == []


def test_the_size_of_an_object_with_a_whole_float_is_known() -> None:
    properties = {"list": {"type": "array", "items": INTEGER}, "text": {"type": "array", "items": TEXT}}
    schema = schema_of(properties, "self.text.all(x, self.text.all(y, x.size() + y.size() > 0)) || self.list[0] > 0")
    (message,) = messages(schema, {"list": [2.0], "text": ["x" * 100] * 300})
    assert "cost limit exceeded" in message


def test_maps_are_transformed() -> None:
    properties = {"map": {"type": "object", "additionalProperties": INTEGER}, "list": {"type": "array", "items": TEXT}}
    schema = schema_of(
        properties,
        "self.map.transformMap(k, v, v * 2)['a'] == 2 && self.map.transformMap(k, v, v > 1, v).size() == 1",
        "self.map.transformMapEntry(k, v, {v: k})[1] == 'a'",
        "self.list.transformMap(i, v, v + v)[1] == 'yy'",
    )
    assert messages(schema, {"map": {"a": 1, "b": 2}, "list": ["x", "y"]}) == []
    (message,) = messages(schema, {"map": {"a": 1, "b": 1, "c": 2}, "list": ["x", "y"]})
    assert "insert failed: key 1 already exists" in message


def test_timestamps_and_durations_have_a_minimum_and_a_maximum() -> None:
    times, durations = (
        {"type": "array", "items": {"type": "string", "format": name}} for name in ("date-time", "duration")
    )
    schema = schema_of(
        {"times": times, "durations": durations, "numbers": {"type": "array", "items": INTEGER}},
        "self.times.max() == timestamp('2025-01-01T00:00:00Z') && self.times.min() < self.times.max()",
        "self.durations.min() == duration('1s') && self.durations.max() == duration('5s')",
        "self.numbers.max() == 3 && [4, 5].max() == 5",
    )
    spec = {"times": ["2025-01-01T00:00:00Z", "2021-01-01T00:00:00Z"], "durations": ["2s", "1s", "5s"]}
    assert messages(schema, spec | {"numbers": [1, 3, 2]}) == []
    (message,) = messages(schema, spec | {"numbers": []})
    assert "max called on empty list" in message


def test_no_message_has_the_name_of_a_function_in_python() -> None:
    durations = {"type": "array", "items": {"type": "string", "format": "duration"}}
    (message,) = messages(schema_of({"all": durations}, "self.all.sum() > duration('1s')"), {"all": ["1s", "2s"]})
    assert "'no such overload'" in message


def test_an_embedded_resource_without_metadata_has_none_in_rules() -> None:
    inner = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
        "x-kubernetes-validations": [{"rule": "self.metadata.name == 'a'"}],
    }
    (message,) = messages(schema_of({"inner": inner}), {"inner": {"apiVersion": "v1", "kind": "A"}})
    assert "no such key: metadata" in message


def test_an_optional_old_self_is_there_on_update_only() -> None:
    schema = schema_of(
        {"a": INTEGER},
        {"rule": "oldSelf.hasValue() ? self.a > oldSelf.value().a : self.a == 1", "optionalOldSelf": True},
    )
    assert messages(schema, {"a": 1}) == []
    assert messages(schema, {"a": 2})
    assert messages(schema, {"a": 2}, {"a": 1}) == []
    assert messages(schema, {"a": 1}, {"a": 2})


def test_the_order_of_sets_and_maps_is_no_change() -> None:
    properties = {
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT},
        "map": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
            "items": {
                "type": "object",
                "properties": {"k": TEXT, "s": {"type": "array", "x-kubernetes-list-type": "set", "items": TEXT}},
            },
        },
        "list": {"type": "array", "items": TEXT},
    }
    schema = schema_of(properties, "self == oldSelf")
    old = {"set": ["a", "b"], "map": [{"k": "a", "s": ["x", "y"]}, {"k": "b"}], "list": ["a", "b"]}
    same = {"set": ["b", "a"], "map": [{"k": "b"}, {"k": "a", "s": ["y", "x"]}], "list": ["a", "b"]}
    assert messages(schema, same, old) == []
    assert messages(schema, {**same, "list": ["b", "a"]}, old)
    assert messages(schema, {**same, "set": ["b"]}, old)


def test_rules_see_the_name_of_the_resource_and_nothing_else_of_its_metadata() -> None:
    root = {
        "type": "object",
        "x-kubernetes-validations": [{"rule": "self.metadata.name == 'x' && self.kind == 'K'"}],
    }
    schema = StructuralSchema.compile(root)
    assert schema.validate({"kind": "K", "metadata": {"name": "x", "labels": {"a": "b"}}}) == []
    with pytest.raises(CompileError, match="undefined field 'labels'"):
        StructuralSchema.compile(
            {"type": "object", "x-kubernetes-validations": [{"rule": "has(self.metadata.labels)"}]}
        )


@pytest.mark.parametrize(
    ("name", "in_rules"),
    [
        ("plain", "plain"),
        ("a-b", "a__dash__b"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("a__b", "a__underscores__b"),
        ("namespace", "__namespace__"),
        ("int", "int"),
        ("ä", None),
        ("9a", None),
    ],
)
def test_names_are_escaped_as_kubernetes_does(name: str, in_rules: str | None) -> None:
    assert escaped(name) == in_rules


@pytest.mark.parametrize("other", [{}, {"at": {"type": "string", "format": "date-time"}, "in": INTEGER}])
def test_a_word_of_the_language_is_a_field_with_and_without_underscores(other: dict[str, Any]) -> None:
    schema = schema_of({"namespace": TEXT, **other}, "self.namespace == 'a' && has(self.__namespace__)")
    assert messages(schema, {"namespace": "a"}) == []
    assert len(messages(schema, {"namespace": "b"})) == 1


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("self.a >", "Syntax error"),
        ("self.nosuch == 1", "undefined field 'nosuch'"),
        ("self.a.b == 1", "type 'int' does not support field selection"),
        ("nosuch(self.a)", "undeclared reference to 'nosuch'"),
        ("self.a.startsWith(1)", "overload for 'startsWith' applied to 'int.(int)'"),
        ("null == self.a", "overload for '_==_' applied to '(null, int)'"),
        ("1 < 1.5 && self.nosuch == 1", "undefined field 'nosuch'"),
        ("(" * 300 + "true" + ")" * 300, "recursion limit"),
    ],
)
def test_a_rule_that_does_not_compile_has_the_reason(rule: str, told: str) -> None:
    with pytest.raises(CompileError) as caught:
        schema_of({"a": INTEGER}, rule)
    assert told in str(caught.value)


def test_the_errors_of_a_rule_are_in_the_order_of_its_text() -> None:
    with pytest.raises(CompileError) as caught:
        schema_of({"a": INTEGER}, "nosuch.bind(x, self, x == y)")
    found = re.findall(r"ERROR: <input>:1:(\d+)", str(caught.value))
    assert found == sorted(found, key=int)
    assert len(found) > 2


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("self.a / 0 > 1", "division by zero evaluating rule"),
        ("self.list[5] == 'a'", "index out of bounds: 5 evaluating rule"),
        ("self.m.nosuch == 'a'", "no such key: nosuch evaluating rule"),
        ("self.any + 1 > 2", "'no such overload': call arguments did not match"),
        ("self.a * 9223372036854775807 > 1", "overflow evaluating rule"),
        ("self.any.matches('a' + '(')", "evaluating rule"),
    ],
)
def test_a_rule_that_fails_is_a_cause(rule: str, told: str) -> None:
    anything = {"x-kubernetes-int-or-string": True}
    lists = {"type": "array", "items": TEXT}
    maps = {"type": "object", "additionalProperties": TEXT}
    schema = schema_of({"a": INTEGER, "list": lists, "m": maps, "any": anything}, rule)
    (message,) = messages(schema, {"a": 7, "list": ["a"], "m": {}, "any": "x"})
    assert message.startswith('Invalid value: "object": ')
    assert told in message


def cost_of(rule: str, spec: Any) -> tuple[float, float]:
    """The bound for a rule on an object: milliseconds, MiB."""
    cost = compile_expression(rule, Tree(None).node({"x-kubernetes-preserve-unknown-fields": True})).cost(spec, None)
    return cost.nanoseconds / 1e6, cost.bytes / 2**20


def test_many_rules_share_one_budget() -> None:
    schema = schema_of({"list": {"type": "array", "items": TEXT}}, *["self.list.all(x, x != 'zz')"] * 300)
    (message,) = messages(schema, {"list": ["a" * 100] * 9_000})
    assert "call cost exceeds limit" in message


def test_a_rule_on_very_many_items_runs_out_of_budget() -> None:
    items = {"type": "array", "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}}
    schema = StructuralSchema.compile({"type": "object", "properties": {"list": items}})
    assert schema.validate({"list": [1] * 5_000}) == []
    (cause,) = schema.validate({"list": [1] * 1_000_000})
    assert "cost" in cause.message


def test_usual_rules_on_thousands_of_items_are_within_the_budget() -> None:
    rules = [{"rule": f"self.name.size() > {number}"} for number in range(10)]
    item = {"type": "object", "properties": {"name": TEXT}, "x-kubernetes-validations": rules}
    pattern = {"rule": "self.all(x, x.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?([.][a-z]([-a-z0-9]*[a-z0-9])?)*$'))"}
    items = {"type": "array", "items": item, "x-kubernetes-validations": [pattern]}
    schema = StructuralSchema.compile({"type": "object", "properties": {"items": items}})
    assert schema.validate({"items": [{"name": f"a-name-of-usual-length-{number}"} for number in range(2_000)]}) == []


def test_a_cost_that_is_exceeded_has_the_cause_of_the_real_server() -> None:
    schema = schema_of({"s": TEXT}, "self.s.matches(self.s)", "self.s == ''")
    (cause,) = schema.validate({"spec": {"s": "a" * 5_000}})
    assert cause == Cause(
        "FieldValueInvalid",
        "Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules "
        "will be run due to call cost exceeds limit for rule: self.s.matches(self.s)",
        "spec",
    )


def test_a_cost_that_is_exceeded_is_a_cause_even_if_the_rule_does_not_mind_errors() -> None:
    schema = schema_of({"s": TEXT}, "self.s.matches(self.s) || true")
    assert ["cost" in message for message in messages(schema, {"s": "a" * 5_000})] == [True]


@pytest.mark.parametrize(
    ("rule", "spec"),
    [
        ("self.ports.all(p, self.ports.exists_one(q, q.name == p.name))", {"ports": [{"name": "x" * 60}] * 90}),
        ("self.list.filter(x, x.on).size() == 1", {"list": [{"name": "x" * 60, "on": True}] * 1_000}),
        ("self.list.all(x, x.text.size() < 9)", {"list": [{"text": "x" * 500_000}, *[{"text": "y"}] * 5_000]}),
        ("self.list.all(x, x.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))", {"list": ["x" * 63] * 1_000}),
        ("self.a + '-' + self.b == self.c", {"a": "x" * 100_000, "b": "y" * 100_000, "c": ""}),
        ("self.a.split(',').all(x, x.startsWith('k'))", {"a": "key," * 1_000}),
    ],
)
def test_usual_rules_on_usual_objects_are_far_from_the_budget(rule: str, spec: Any) -> None:
    milliseconds, size = cost_of(rule, spec)
    assert milliseconds < 100
    assert size < 30


def test_the_bound_grows_with_what_a_rule_looks_at_and_with_nothing_else() -> None:
    small, large = {"a": "x", "b": "x"}, {"a": "x", "b": "x" * 1_000_000}
    assert cost_of("self.a == 'y'", small) == cost_of("self.a == 'y'", large)
    assert cost_of("self.b == 'y'", small) < cost_of("self.b == 'y'", large)


def test_an_inner_loop_over_the_list_of_a_large_item_is_not_averaged_away() -> None:
    items = [{"name": "x" * 500_000, "list": [0] * 5_000}, *[{"name": "x", "list": []}] * 5_000]
    rule = "self.items.all(x, x.list.all(y, x.name.size() > 0))"
    assert cost_of(rule, {"items": items})[0] > 5_000 * 500_000 / 1e6


@pytest.mark.parametrize(
    ("rule", "fields"),
    [
        ("self.a == 1 && has(self.b.c)", {"a": None, "b": {"c": None}}),
        ("self.?a.orValue(1) == oldSelf.b", {"a": None}),
        ("self . a == 'self.x' // self", {"a": None}),
        ("self.a.b == 1 && self.a.c == self.a.d.e", {"a": {"b": None, "c": None, "d": {"e": None}}}),
        ("self.a.b == 1 && size(self.a) == 2", {"a": None}),
        ("self.a.all(x, x.b == self.?c.?d.orValue(1))", {"a": None, "c": {"d": None}}),
        ("self == oldSelf", None),
        ("self.a == 1 && size(self) == 2", None),
        ("self.all(k, k != 'a')", None),
        ("self['a'] == 1 && self['b'].c == 2", {"a": None, "b": {"c": None}}),
        ("self['a'] == 1 && self", None),
    ],
)
def test_a_rule_is_given_the_fields_it_looks_at(rule: str, fields: dict[str, Any] | None) -> None:
    assert compile_expression(rule, Tree(None).node({"x-kubernetes-preserve-unknown-fields": True})).fields == fields


def test_a_message_expression_that_is_of_no_use_gives_way_to_the_message() -> None:
    schema = schema_of(
        {"a": INTEGER},
        {"rule": "self.a < 1", "messageExpression": "'a is ' + string(self.a)", "message": "fallback"},
        {"rule": "self.a < 2", "messageExpression": "string(self.a / 0)", "message": "fallback"},
        {"rule": "self.a < 3", "messageExpression": "' '"},
        {"rule": "self.a < 4", "messageExpression": "'two\\nlines'", "message": "fallback"},
    )
    assert messages(schema, {"a": 5}) == [
        "Invalid value: a is 5",
        "Invalid value: fallback",
        "Invalid value: failed rule: self.a < 3",
        "Invalid value: fallback",
    ]


def test_without_the_extra_a_schema_with_rules_names_it() -> None:
    program = """
import sys
sys.modules["cel_expr_python"] = None
from pilotage.errors import MissingExtra
from pilotage.schema.structural import StructuralSchema
from pilotage.schema.structural.node import Tree
StructuralSchema.compile({"type": "object"})
try:
    StructuralSchema.compile({"type": "object", "x-kubernetes-validations": [{"rule": "true"}]})
except MissingExtra as error:
    print(error.extra)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "cel"


@pytest.mark.parametrize("rule", ["has(self.map['a'])", "has(self)"])
def test_the_argument_of_has_is_a_field(rule: str) -> None:
    with pytest.raises(CompileError, match=r"invalid argument to has\(\) macro"):
        schema_of({"map": {"type": "object", "additionalProperties": TEXT}}, rule)
