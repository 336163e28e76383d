"""The warnings of type checking beside those of Kubernetes' type checker, and the status that has them.

`answers/typechecking.json` has what `hack/typecheck` printed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import pilotage as pt
from pilotage.kubernetes.kinds import KINDS
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured
from pilotage.server.catalogue.catalogue import Catalogue
from pilotage.server.policies.typechecking import expression_warnings, kinds_of
from pilotage.storage.memory import MemoryStorage
from pilotage.types.admissionregistration.v1 import ValidatingAdmissionPolicy

ANSWERS = json.loads(Path(__file__).with_name("answers").joinpath("typechecking.json").read_text())


@pytest.mark.parametrize("title", ANSWERS)
async def test_the_warnings_are_those_of_kubernetes(title: str) -> None:
    case: Any = ANSWERS[title]
    spec, catalogue = case["spec"], Catalogue(MemoryStorage(), "/default/", KINDS)
    kind = spec.get("paramKind")
    params = await catalogue.of_kind(GroupVersionKind.of(kind["apiVersion"], kind["kind"])) if kind else None
    assert expression_warnings(spec, await kinds_of(spec, catalogue), params) == case["warnings"]


class WidgetSpec(pt.Model):
    size: int = 1


@pt.resource(group="demo.pilotage.dev", version="v1")
class Widget(pt.Resource):
    spec: WidgetSpec


def policy(expression: str) -> Unstructured:
    rule = {
        "apiGroups": ["demo.pilotage.dev"],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["widgets"],
    }
    spec = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}]}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    return Unstructured({**head, "metadata": {"name": "sizes"}, "spec": spec})


@pytest.mark.virtual_time
async def test_the_status_of_a_policy_has_the_warnings_of_its_generation() -> None:
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        client = manager.cluster.client
        await manager.cluster.install(Widget)
        await client.create(policy("object.spec.sise > 1 && object.metadata.labels['a'] == 'b'"))
        await manager.run_until_idle(timeout=30)
        found = await client.get(ValidatingAdmissionPolicy, "sizes")
        assert found.status is not None
        assert found.status.observed_generation == 1
        assert found.status.type_checking is not None
        (warning,) = found.status.type_checking.expression_warnings or []
        assert warning.field_ref == "spec.validations[0].expression"
        assert "demo.pilotage.dev/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'sise'" in warning.warning
        (managed,) = [each for each in found.metadata.managed_fields if each.subresource == "status"]
        assert managed.manager == "validatingadmissionpolicy-status"
        right = {"spec": {"validations": [{"expression": "object.spec.size > 1"}]}}
        await client.patch(found, right)
        await manager.run_until_idle(timeout=30)
        found = await client.get(ValidatingAdmissionPolicy, "sizes")
        assert found.status is not None
        assert found.status.observed_generation == 2
        assert not (found.status.type_checking and found.status.type_checking.expression_warnings)
