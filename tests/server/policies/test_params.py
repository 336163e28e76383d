"""Parameters of policies at other versions than the stored one."""

from __future__ import annotations

from typing import Any

import pytest

import pilotage as pt

from ...environments import Environment
from .objects import Policies, refusal

pytest.importorskip("cel_expr_python")

GROUP = "limits.pilotage.dev"
URL = "https://converter.invalid/convert"


def _definition() -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    conversion = {"clientConfig": {"url": URL}, "conversionReviewVersions": ["v1"]}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"limits.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "limits", "kind": "Limit"},
            "conversion": {"strategy": "Webhook", "webhook": conversion},
            "versions": [
                {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}
                for name in ("v1", "v2")
            ],
        },
    }


async def _convert(review: dict[str, Any]) -> dict[str, Any]:
    request = review["request"]
    converted = [{**each, "apiVersion": request["desiredAPIVersion"], "most": 1} for each in request["objects"]]
    response = {"uid": request["uid"], "convertedObjects": converted, "result": {"status": "Success"}}
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}


async def test_parameters_are_converted_by_the_webhook_of_their_definition() -> None:
    async with pt.Cluster.embedded() as cluster:
        environment = Environment("memory", cluster.client, "default", cluster.registry)
        await environment.install(_definition())
        document = {"apiVersion": f"{GROUP}/v1", "kind": "Limit", "metadata": {"name": "a", "namespace": "default"}}
        await cluster.client.create(pt.Unstructured(document))
        policies = Policies(environment, "ValidatingAdmissionPolicy")
        kind = {"apiVersion": f"{GROUP}/v2", "kind": "Limit"}
        spec = {"validations": [{"expression": "size(object.data) <= params.most"}], "paramKind": kind}
        reference = {"name": "a", "parameterNotFoundAction": "Deny"}
        await policies.create("limited", spec, {"validationActions": ["Deny"], "paramRef": reference})
        error = await refusal(environment, "x", {"a": "1"})
        assert error is not None
        assert "failed to configure binding: " in error.status.message
        cluster.registry.local_webhooks.add(URL, _convert)
        assert await refusal(environment, "x", {"a": "1"}) is None
        assert await refusal(environment, "y", {"a": "1", "b": "2"}) is not None
