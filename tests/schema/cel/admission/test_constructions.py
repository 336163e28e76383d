"""The types of what mutations construct, with the messages of a kube-apiserver 1.36."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.schema.cel.admission.constructions import TYPE, plain
from pilotage.schema.cel.admission.expressions import AdmissionCompiler
from pilotage.schema.cel.admission.patches import as_functions


def problem(text: str) -> str | None:
    wanted = "list(JSONPatch)" if "JSONPatch" in text else "Object"
    return AdmissionCompiler(params=False, composed=True).patch_problem(text, wanted)


@pytest.mark.parametrize(
    "text",
    [
        "Object{spec: Object.spec{replicas: 1}}",
        "Object{spec: Object.metadata{replicas: 1}}",  # found when it is evaluated
        "Object{spec: dyn(Object.metadata{})}",
        "Object{?spec: optional.of(Object.spec{})}",
        "true ? Object{spec: Object.spec{}} : Object{spec: Object.metadata{}}",
        "[JSONPatch{op: 'add', path: '/a', value: Object.spec{x: 1}}]",
        "[JSONPatch{op: object.op, path: '/' + object.path}]",
    ],
)
def test_what_fits_is_accepted(text: str) -> None:
    assert problem(text) is None


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (
            "Object{spec: has(object.spec) ? Object.spec{x: 1} : Object.metadata{x: 1}}",
            31,
            "found no matching overload for '_?_:_' applied to '(bool, Object.spec, Object.metadata)'",
        ),
        (
            "Object{spec: Object.spec{a: [Object.spec.a{}, Object.spec.b{}]}}",
            60,
            "expected type 'Object.spec.a' but found 'Object.spec.b'",
        ),
        ("[JSONPatch{op: 1, path: '/a'}]", 14, "expected type of field 'op' is 'string' but provided type is 'int'"),
        (
            "[JSONPatch{op: 'add', path: '/a', from: 2}]",
            39,
            "expected type of field 'from' is 'string' but provided type is 'int'",
        ),
        ("[JSONPatch{op: 'add', foo: 1}]", 26, "expected type of field 'foo' is '' but provided type is 'int'"),
        (
            "Object{spec: Object.spec{a: 'x' + 1}}",
            33,
            "found no matching overload for '_+_' applied to '(string, int)'",
        ),
    ],
)
def test_what_does_not_fit_is_reported_at_its_place_in_the_expression(text: str, column: int, message: str) -> None:
    shown = f"ERROR: <input>:1:{column}: {message}\n | {text}\n | {'.' * (column - 1)}^"
    assert problem(text) == f"compilation failed: {shown}"


def test_the_result_has_the_type_that_is_constructed() -> None:
    assert problem("Object.spec{replicas: 1}") == "must evaluate to Object but got Object.spec"
    assert problem("JSONPatch{op: 'add'}") == "must evaluate to list(JSONPatch) but got JSONPatch"


def test_each_place_of_a_rewritten_expression_is_found_in_the_original() -> None:
    text = "[JSONPatch{op: 'add', value: Object.spec{a: x,\n b: y}}]"
    rewritten = as_functions(text)
    for written, name in (('"op"', "op"), ("'add'", "'add'"), ('"value"', "value"), (" x", " x"), (" y", " y")):
        assert rewritten.original_offset(rewritten.text.index(written)) == text.index(name)


@pytest.mark.parametrize(
    ("value", "expected", "problems"),
    [
        ({TYPE: "Object", "spec": {TYPE: "Object.spec", "a": 1}}, {"spec": {"a": 1}}, []),
        ({TYPE: "Object", "spec": {"a": [{TYPE: "Object.spec", "b": 1}]}}, {"spec": {"a": [{"b": 1}]}}, []),
        ({TYPE: "Object.foo", "a": {TYPE: "Object.foo.a"}}, {"a": {}}, []),
        ("text", "text", []),
        ({TYPE: "Object", "a": {TYPE: "Object.b"}}, {"a": {}}, [("Object.b", "Object.a")]),
    ],
)
def test_type_names_fit_to_the_fields_that_they_are_in(
    value: Any, expected: Any, problems: list[tuple[str, str]]
) -> None:
    suffix = "which matches field name path from root Object type"
    shown = [f'unexpected type name "{found}", expected "{wanted}", {suffix}' for found, wanted in problems]
    assert plain(value) == (expected, shown)
