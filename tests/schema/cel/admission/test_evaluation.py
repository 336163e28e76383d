from __future__ import annotations

from typing import Any

import pytest

from pilotage.schema.cel.admission.evaluation import (
    AdmissionExpression,
    AuthorizerDecision,
    Decisions,
    Question,
)
from pilotage.schema.cel.expression import EvaluationError
from pilotage.schema.cel.patterns import COST_EXCEEDED

OBJECT = {"metadata": {"name": "a", "labels": {"x": "y"}}, "spec": {"items": [1, 2, 3], "ratio": 0.5, "large": 10**20}}
REQUEST = {"name": "a", "operation": "CREATE", "userInfo": {"username": "bob", "groups": ["g"]}}


def _evaluate(text: str, **variables: Any) -> Any:
    data = {"object": OBJECT, "oldObject": None, "request": REQUEST, "authorizer": {}} | variables
    return AdmissionExpression(text).evaluate(data)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("object.metadata.name == 'a' && oldObject == null", True),
        ("has(object.metadata.labels) && 'x' in object.metadata.labels", True),
        ("object.spec.items.all(item, item < 4)", True),
        ("object.spec.ratio > 1", False),
        ("object.metadata.name.matches('^[b-z]$')", False),
        ("request.userInfo.username == 'bob' && 'g' in request.userInfo.groups", True),
        ("object.?spec.?missing.orValue('none')", "none"),
        ("quantity('1Ki').isGreaterThan(quantity('1k'))", True),
        ("variables.double + params.more", 5),
        ("object.spec.large > 1.0", True),
        ("has(oldObject.x) || has(namespaceObject.x)", False),
        ("{'a': [oldObject].map(each, has(each.x))}", {"a": [False]}),
        ("oldObject.?x.?y.hasValue()", False),
        ("has(oldObject.x) ? 'x' : oldObject.?x.orValue('none')", "none"),
        ("has(oldObject.x) ? 'has x' : oldObject == null ? 'null' : 'an object'", "null"),
    ],
)
def test_an_expression_sees_the_variables_of_admission(text: str, result: object) -> None:
    assert _evaluate(text, variables={"double": 2}, params={"more": 3}) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("object.spec.missing == 1", "no such key: missing"),
        ("oldObject.metadata.name == 'a'", "no such key: metadata"),
        ("has(oldObject.metadata.name)", "no such key: metadata"),
        ("oldObject['x'] == 1", "no such key: x"),
        ("request.subResource == ''", "no such key: subResource"),
        ("1 / (size(object.spec.items) - 3) == 1", "division by zero"),
        ("object.metadata.name + object.spec == 'a'", "no such overload"),
    ],
)
def test_an_error_has_the_words_of_kubernetes(text: str, message: str) -> None:
    with pytest.raises(EvaluationError, match=message):
        _evaluate(text)


def test_an_expression_that_would_take_too_long_is_not_evaluated() -> None:
    items = list(range(2000))
    with pytest.raises(EvaluationError, match=COST_EXCEEDED):
        _evaluate("object.all(a, object.all(b, object.exists(c, c == a + b)))", object=items)


def test_what_an_expression_asks_the_authorizer_is_noted_until_it_is_answered() -> None:
    text = "authorizer.group('apps').resource('deployments').subresource('scale').namespace('n').check('get').allowed()"
    expression, decisions = AdmissionExpression(text), Decisions()
    with pytest.raises(EvaluationError):
        expression.evaluate({"authorizer": {}}, decisions)
    (question,) = decisions.open
    assert question == Question("get", group="apps", resource="deployments", subresource="scale", namespace="n")
    decisions.answers[question] = AuthorizerDecision(True)
    assert expression.evaluate({"authorizer": {}}, decisions) is True
    assert decisions.open == []


def test_a_question_that_does_not_decide_is_asked_because_it_counts_as_a_cost() -> None:
    expression, decisions = AdmissionExpression("authorizer.path('/a').check('get').allowed() || true"), Decisions()
    with pytest.raises(EvaluationError):
        expression.evaluate({"authorizer": {}}, decisions)
    decisions.answers[decisions.open[0]] = AuthorizerDecision(False)
    assert expression.evaluate({"authorizer": {}}, decisions) is True
    assert decisions.checks == 1


def test_the_reason_and_the_error_of_a_decision_can_be_read() -> None:
    text = "authorizer.serviceAccount('n', 'a').path('/x').check('get').{}()"
    question = Question("get", path="/x", service_account="n:a")
    decisions = Decisions()
    decisions.answers[question] = AuthorizerDecision(False, "because", "broken")
    found = [AdmissionExpression(text.format(name)).evaluate({"authorizer": {}}, decisions) for name in _PARTS]
    assert found == [False, "because", True, "broken"]


_PARTS = ("allowed", "reason", "errored", "error")
