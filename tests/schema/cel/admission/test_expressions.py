from __future__ import annotations

import subprocess
import sys

import pytest

from pilotage.schema.cel.admission.expressions import AdmissionCompiler


def problem(text: str, *wanted: str, params: bool = False, authorizer: bool = True) -> str | None:
    return AdmissionCompiler(params=params).problem(text, *(wanted or ("bool",)), authorizer=authorizer)


@pytest.mark.parametrize(
    "text",
    [
        "object.metadata.name == oldObject.metadata.name",
        "request.userInfo.groups.exists(group, group == 'admins')",
        "has(request.namespace) && request.namespace == 'default'",
        "namespaceObject.metadata.creationTimestamp < timestamp('2020-01-01T00:00:00Z')",
        "authorizer.requestResource.check('update').allowed()",
        "authorizer.group('').resource('pods').namespace('default').name('p').check('get').reason() == 'x'",
        "authorizer.serviceAccount('default', 'robot').path('/healthz').check('get').errored()",
        "quantity(object.spec.size).isLessThan(quantity('1Gi'))",
        "size(object.spec.items) < 2.5",
        "object.spec.requests.all(request, request.amount > 1)",
        "object.spec.requests.all(index, request, request.amount > index)",
    ],
)
def test_expressions_over_requests_compile(text: str) -> None:
    assert problem(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", "must evaluate to bool but got int"),
        ("object.enabled", "must evaluate to bool but got dyn"),
        ("request.foo == 'x'", "compilation failed: ERROR: <input>:1:8: undefined field 'foo'"),
        ("namespaceObject.metadata.name == 1", "'_==_' applied to '(string, int)'"),
        ("params.limit == 1", "ERROR: <input>:1:1: undeclared reference to 'params' (in container '')"),
        ("variables.v == 1", "undeclared reference to 'variables'"),
        ("authorizer.path('/').resource('pods')", "found no matching overload for 'resource'"),
        ("'request.foo' == request.bar", "<input>:1:25: undefined field 'bar'"),
        ("1 +", "Syntax error: mismatched input '<EOF>'"),
        ("(" * 20_000, "compilation failed"),
    ],
)
def test_what_does_not_compile_is_named(text: str, expected: str) -> None:
    assert expected in (problem(text) or "")


def test_parameters_and_the_authorizer_are_there_where_they_can_be_used() -> None:
    assert problem("params.limit == 1", params=True) is None
    assert "undeclared reference to 'authorizer" in (problem("authorizer.path('/') == 1", authorizer=False) or "")
    assert problem("null", "string", "null_type") is None
    assert problem("1", "string", "null_type") == "must evaluate to one of [string null_type] but got int"


def test_variables_have_the_type_of_their_expression() -> None:
    compiler = AdmissionCompiler(params=False, composed=True)
    assert "undefined field 'names'" in (compiler.problem("variables.names.size() == 1", "bool") or "")
    assert compiler.add_variable("names", "['a', 'b']") is None
    assert compiler.add_variable("count", "variables.names.size()") is None
    assert compiler.problem("variables.count > 1", "bool") is None
    assert "applied to '(int, string)'" in (compiler.problem("variables.count == 'x'", "bool") or "")


def test_a_variable_that_does_not_compile_is_reported_once() -> None:
    compiler = AdmissionCompiler(params=False, composed=True)
    assert compiler.add_variable("broken", "1 +") is not None
    assert compiler.problem("variables.broken == 1", "bool") is None


@pytest.mark.parametrize(
    ("text", "wanted", "expected"),
    [
        ("Object{spec: Object.spec{replicas: 1, ?paused: object.?paused}}", "Object", None),
        ("Object{metadata: Object.metadata{labels: Object.metadata.labels{a: '{,}'}}}", "Object", None),
        ("{'spec': 1}", "Object", "must evaluate to Object but got map(string, int)"),
        ("Object{'spec': 1}", "Object", "Syntax error"),
        ("[JSONPatch{op: 'add', path: '/' + jsonpatch.escapeKey('a/b'), value: {'a': 1}}]", "list(JSONPatch)", None),
        ("[JSONPatch{operation: 'add'}]", "list(JSONPatch)", "expected type of field 'operation' is '' but"),
        ("[1]", "list(JSONPatch)", "must evaluate to list(JSONPatch) but got list(int)"),
    ],
)
def test_patches_are_constructed_by_their_types(text: str, wanted: str, expected: str | None) -> None:
    found = AdmissionCompiler(params=False).patch_problem(text, wanted)
    assert found is None if expected is None else expected in (found or "")


def test_without_the_extra_an_expression_names_it() -> None:
    program = """
import sys
sys.modules["cel_expr_python"] = None
from pilotage.errors import MissingExtra
from pilotage.schema.cel.admission.expressions import AdmissionCompiler
try:
    AdmissionCompiler(params=False).problem("true", "bool")
except MissingExtra as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'pilotage[cel]'" in done.stdout
