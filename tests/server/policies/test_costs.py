"""What the expressions of admission may cost, on every API server."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.unstructured import Unstructured
from pilotage.schema.cel.expression import OUT_OF_BUDGET
from pilotage.schema.cel.patterns import COST_EXCEEDED

from ...environments import Environment
from .objects import API_VERSION, PROBE, Policies, refusal

pytest.importorskip("cel_expr_python")

TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"
LOOPS = "".join(f"{TEN}.all({name}, " for name in "abcdefg") + "int('1'.find('[0-9]*')) < 100" + ")" * 7
CHECK = "authorizer.group('apps').resource('deployments').namespace('test').name('backend').check('create').allowed()"
ALLOWED = f"({CHECK} || true)"
NUMBERS = "lists.range(10000).map(x, lists.range(10000)).size() > 0"
TEST = "object == null || object.metadata.name != 'costly' || "
"""The probe and other objects cost nothing."""


def each(count: int, text: str) -> list[dict[str, Any]]:
    return [{"name": f"c{number}", "expression": text} for number in range(count)]


def validations(*texts: str) -> list[dict[str, Any]]:
    return [{"expression": f"object.metadata.name != '{PROBE}'"}, *({"expression": TEST + text} for text in texts)]


VERDICTS: dict[str, tuple[dict[str, Any], str]] = {
    "one expression": ({"validations": validations(LOOPS)}, COST_EXCEEDED),
    "lists in lists": ({"validations": validations(NUMBERS)}, COST_EXCEEDED),
    "three checks": ({"validations": validations(" && ".join([ALLOWED] * 3))}, COST_EXCEEDED),
    "two checks": ({"validations": validations(" && ".join([ALLOWED] * 2))}, ""),
    "three checks in a variable": (
        {
            "variables": [{"name": "v", "expression": " && ".join([ALLOWED] * 3)}],
            "validations": validations("variables.v"),
        },
        COST_EXCEEDED,
    ),
    "28 checks of a policy": ({"validations": validations(*[ALLOWED] * 28)}, ""),
    "29 checks of a policy": ({"validations": validations(*[ALLOWED] * 29)}, OUT_OF_BUDGET),
    "29 checks, failures ignored": ({"failurePolicy": "Ignore", "validations": validations(*[ALLOWED] * 29)}, ""),
    "three checks in a match condition": (
        {"matchConditions": each(1, f"({TEST} {' && '.join([ALLOWED] * 3)})"), "validations": validations()},
        COST_EXCEEDED,
    ),
    "seven checks in match conditions": (
        {"matchConditions": each(7, f"({TEST} {ALLOWED})"), "validations": validations()},
        "",
    ),
    "eight checks in match conditions": (
        {"matchConditions": each(8, f"({TEST} {ALLOWED})"), "validations": validations()},
        OUT_OF_BUDGET,
    ),
}


@pytest.mark.parametrize(("spec", "message"), VERDICTS.values(), ids=VERDICTS)
async def test_a_policy_that_costs_too_much_refuses_the_request(
    environment: Environment, spec: dict[str, Any], message: str
) -> None:
    policies = Policies(environment, "ValidatingAdmissionPolicy")
    await policies.create("costs", spec, {"validationActions": ["Deny"]})
    await policies.active()
    error = await refusal(environment, "costly")
    if not message:
        assert error is None
        return
    assert error is not None
    assert error.status.message.endswith(message)


async def test_a_mutation_that_costs_too_much_refuses_the_request(environment: Environment) -> None:
    policies = Policies(environment, "MutatingAdmissionPolicy")
    expression = (
        f"[JSONPatch{{op: 'add', path: '/data/x', value: object.metadata.name == 'costly' ? string({NUMBERS}) : '1'}}]"
    )
    mutations = [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]
    probe = {"name": "probe", "expression": "object.metadata.name != 'other'"}
    refuse = {
        "patchType": "JSONPatch",
        "jsonPatch": {
            "expression": f"[JSONPatch{{op: 'remove', path: object.metadata.name == '{PROBE}' ? '/no' : '/data/x'}}]"
        },
    }
    spec = {"reinvocationPolicy": "Never", "matchConditions": [probe], "mutations": [*mutations, refuse]}
    await policies.create("costs", spec)
    await policies.active()
    error = await refusal(environment, "costly")
    assert error is not None
    assert COST_EXCEEDED in error.status.message


async def test_match_conditions_of_a_webhook_have_the_budget_of_kubernetes(environment: Environment) -> None:
    webhook = {
        "name": "costs.example.com",
        "clientConfig": {"url": "https://127.0.0.1:1/never"},
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": environment.namespace}},
        "matchConditions": each(4, f"{ALLOWED} && {ALLOWED}"),
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    name = f"costs-{environment.namespace}"
    document = {"apiVersion": API_VERSION, "kind": "ValidatingWebhookConfiguration", "metadata": {"name": name}}
    await environment.client.create(Unstructured({**document, "webhooks": [webhook]}))
    policies = Policies(environment, "ValidatingAdmissionPolicy")
    await policies.create("after", {"validations": validations()}, {"validationActions": ["Deny"]})
    await policies.active()
    error = await refusal(environment, "costly")
    assert error is not None
    assert error.status.message.endswith(OUT_OF_BUDGET)
