"""What a kube-apiserver 1.36 answers to literals and to comparisons of numbers of different types."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.schema.cel.admission.evaluation import expression_of
from pilotage.schema.cel.admission.expressions import AdmissionCompiler
from pilotage.schema.cel.expression import CompileError
from pilotage.schema.structural import StructuralSchema

PROPERTIES = {"i": {"type": "integer"}, "d": {"type": "number"}, "s": {"type": "string", "maxLength": 10}}


def rule_problem(rule: str) -> str:
    """What is wrong with a rule of a CRD."""
    spec = {"type": "object", "properties": PROPERTIES, "x-kubernetes-validations": [{"rule": rule}]}
    try:
        StructuralSchema.compile({"type": "object", "properties": {"spec": spec}})
    except CompileError as error:
        return error.failure
    return ""


def at(rule: str, column: int, message: str) -> str:
    return f"ERROR: <input>:1:{column}: {message}\n | {rule}\n | {'.' * (column - 1)}^"


@pytest.mark.parametrize(
    "rule",
    [
        "self.i < self.d",
        "self.i < 1.5",
        "1 < 1.5",
        "self.d > 1",
        "1u < 2",
        "self.i > 1u",
        "self.s < 'b' && self.i <= 2.0",
        "[1u, 2u].all(x, x < 2.5)",
        "true ? 1 < 2.0 : false",
        "1 < 1.5 && ip.isCanonical('1.2.3.4')",
        "dyn(self.i) == 1.0",
        "self.s.matches('a' + '(')",
        "self.s.matches('\\\\d+')",
        "self.s.replace('(', '') == ''",
        "quantity('x').isInteger()",
    ],
)
def test_numbers_of_different_types_are_compared_and_what_is_no_literal_is_not_checked(rule: str) -> None:
    assert rule_problem(rule) == ""


@pytest.mark.parametrize(
    ("rule", "column", "message"),
    [
        ("self.i == self.d", 8, "found no matching overload for '_==_' applied to '(int, double)'"),
        ("1 == 1.0", 3, "found no matching overload for '_==_' applied to '(int, double)'"),
        ("self.i in [1.0, 2.0]", 8, "found no matching overload for '@in' applied to '(int, list(double))'"),
        ("self.i + 1.0 > 2.0", 8, "found no matching overload for '_+_' applied to '(int, double)'"),
        ("self.s.matches('(')", 16, "invalid matches argument"),
        ("self.s.matches('a(?=b)')", 16, "invalid matches argument"),
        ("self.s.matches(r'(')", 16, "invalid matches argument"),
        ("timestamp('2020-01-01T00:00:00Z') < timestamp('bad')", 47, "invalid timestamp argument"),
        ("duration('x') < duration('1s')", 10, "invalid duration argument"),
        ("[1, 'a'].size() > 0", 5, "expected type 'int' but found 'string'"),
        ("{'a': 1, 'b': 'c'}.size() > 0", 15, "expected type 'int' but found 'string'"),
        ("[1, dyn('a')].size() > 0", 8, "expected type 'int' but found 'dyn'"),
        ("self.s == 'x' || [[1],['a']].size() > 0", 23, "expected type 'list(int)' but found 'list(string)'"),
        (
            "self.s.matches('(') || self.i == 'x'",
            31,
            "found no matching overload for '_==_' applied to '(int, string)'",
        ),
    ],
)
def test_a_rule_that_cannot_be_is_refused_at_its_place(rule: str, column: int, message: str) -> None:
    assert rule_problem(rule) == f"compilation failed: {at(rule, column, message)}"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "missing closing ): `(`"),
        ("[", "missing closing ]: `[`"),
        ("*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        (")", "unexpected ): `)`"),
    ],
)
@pytest.mark.parametrize(
    "call", ["self.s.find('{}') == ''", "self.s.findAll('{}').size() > 0", "matches(self.s, '{}')"]
)
def test_patterns_of_functions_are_refused_with_the_program(call: str, pattern: str, message: str) -> None:
    found = rule_problem(call.replace("{}", pattern))
    assert found == f"program instantiation failed: error parsing regexp: {message}"


def test_all_literals_are_named_in_their_order() -> None:
    rule = "self.s.matches('(') && timestamp('x') < timestamp('y')"
    places = [(16, "matches"), (34, "timestamp"), (51, "timestamp")]
    assert rule_problem(rule) == "compilation failed: " + "\n".join(
        at(rule, column, f"invalid {name} argument") for column, name in places
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 < 1.5", None),
        ("object.spec.replicas < 1.5", None),
        ("namespaceObject.metadata.generation < 1.5", None),
        ("request.name.matches('(')", "<input>:1:22: invalid matches argument"),
        ("object.metadata.name.matches('[')", "<input>:1:30: invalid matches argument"),
        ("timestamp('x') < timestamp('y')", "<input>:1:11: invalid timestamp argument"),
        ("[1,'a'].size() > 0", "<input>:1:4: expected type 'int' but found 'string'"),
        ("'%s %d'.format(['a', 1]) == ''", None),
        ("request.name.find('(') == ''", "program instantiation failed: error parsing regexp: missing closing ): `(`"),
    ],
)
def test_expressions_of_admission_are_checked_in_the_same_way(text: str, problem: str | None) -> None:
    found = AdmissionCompiler(params=False).problem(text, "bool")
    assert found == problem if problem is None else problem in (found or "")


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 < object.d", True),
        ("2 < 1.5", False),
        ("1u < 2 && 'ab'.matches('a.')", True),
        ("[1, 2].all(x, x < 1.5)", False),
    ],
)
def test_numbers_of_different_types_are_compared_by_their_values(text: str, result: bool) -> None:
    variables: dict[str, Any] = {"object": {"d": 1.5}}
    assert expression_of(text).evaluate(variables) is result


@pytest.mark.parametrize(
    "text", ["Object{spec: Object.spec{a: 1, b: 'x'}}", "[JSONPatch{op: 'add', path: '/a', value: 1}]"]
)
def test_fields_of_what_is_constructed_have_types_of_their_own(text: str) -> None:
    wanted = "list(JSONPatch)" if "JSONPatch" in text else "Object"
    assert AdmissionCompiler(params=False, composed=True).patch_problem(text, wanted) is None
