from __future__ import annotations

from typing import Any

import pytest

from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.patches import MergeSchema, ModelMergeSchema, OpenAPIMergeSchema, strategic, strategic_diff
from pilotage.types import builtin

KINDS = [
    GroupVersionKind("apps", "v1", "Deployment"),
    GroupVersionKind("", "v1", "Node"),
    GroupVersionKind("", "v1", "Service"),
    GroupVersionKind("batch", "v1", "CronJob"),
    GroupVersionKind("policy", "v1", "PodDisruptionBudget"),
    GroupVersionKind("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration"),
]


def both(gvk: GroupVersionKind) -> tuple[MergeSchema, OpenAPIMergeSchema]:
    model = builtin.type_for(gvk)
    assert model is not None
    return ModelMergeSchema(model), OpenAPIMergeSchema(builtin.schema(gvk), builtin.definition)


def compare(one: MergeSchema, other: OpenAPIMergeSchema, depth: int) -> int:
    """Compare both lookups for every field; returns the number of fields that have a strategy."""
    found = 0
    for field in other.schema.get("properties", {}):
        if field in ("apiVersion", "kind"):
            continue
        assert (one.strategy(field), one.merge_key(field)) == (other.strategy(field), other.merge_key(field)), field
        found += bool(other.strategy(field))
        inside, beside = one.child(field), other.child(field)
        if depth and inside is not None and isinstance(beside, OpenAPIMergeSchema):
            found += compare(inside, beside, depth - 1)
    return found


@pytest.mark.parametrize("gvk", KINDS, ids=str)
def test_the_types_say_the_same_as_the_schemas_that_they_were_made_from(gvk: GroupVersionKind) -> None:
    model, openapi = both(gvk)
    assert compare(model, openapi, 5) > 1


@pytest.mark.parametrize("index", [0, 1], ids=["model", "openapi"])
def test_a_real_deployment_is_patched_by_its_merge_keys(index: int) -> None:
    schema = both(KINDS[0])[index]
    port: dict[str, Any] = {"containerPort": 80, "protocol": "TCP"}
    web = {"name": "web", "image": "web:1", "ports": [port]}
    before = {
        "spec": {
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {}},
            "template": {"spec": {"containers": [web]}},
        }
    }
    changed = {"name": "web", "image": "web:2", "ports": [port, {"containerPort": 81}]}
    after = {
        "spec": {"strategy": {"type": "Recreate"}, "template": {"spec": {"containers": [changed, {"name": "side"}]}}}
    }
    patch = strategic_diff(before, after, schema)
    assert patch["spec"]["strategy"] == {"type": "Recreate", "rollingUpdate": None, "$retainKeys": ["type"]}
    assert "protocol" not in str(patch), "what did not change is not said"
    assert strategic.apply(before, patch, schema) == after
