"""Scales: who owns the replicas."""

from __future__ import annotations

from ..differential import APPLY, Scenario, get, patch, post, put

_SETS = "/apis/apps/v1/namespaces/<namespace>/deployments"
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "b"}]}}
_SPEC = {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}


def _deployment(name: str, **spec: object) -> dict[str, object]:
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name}, "spec": _SPEC | spec}


def _scale(name: str, replicas: int) -> dict[str, object]:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": name},
        "spec": {"replicas": replicas},
    }


SCALING = Scenario(
    "scaling",
    [
        post("a deployment", f"{_SETS}?fieldManager=creator", _deployment("a", replicas=2)),
        patch("its managers are reset", f"{_SETS}/a", {"metadata": {"managedFields": [{}]}}),
        patch("other replicas that no manager owns", f"{_SETS}/a/scale?fieldManager=m", _scale("a", 3), APPLY),
        patch("the same replicas", f"{_SETS}/a/scale?fieldManager=m", _scale("a", 2), APPLY),
        get("two managers own them", f"{_SETS}/a"),
        patch("its managers are reset again", f"{_SETS}/a", {"metadata": {"managedFields": [{}]}}),
        patch("by force", f"{_SETS}/a/scale?fieldManager=m&force=true", _scale("a", 3), APPLY),
        get("one manager owns them", f"{_SETS}/a"),
        patch("applied without replicas", f"{_SETS}/b?fieldManager=m", _deployment("b"), APPLY),
        patch("the replicas that it has by default", f"{_SETS}/b/scale?fieldManager=n", _scale("b", 1), APPLY),
        patch("a conflict with what was before", f"{_SETS}/b/scale?fieldManager=n", _scale("b", 2), APPLY),
        get("its managers", f"{_SETS}/b"),
        patch("another one without replicas", f"{_SETS}/c?fieldManager=m", _deployment("c"), APPLY),
        put("an update of its scale", f"{_SETS}/c/scale?fieldManager=n", _scale("c", 2)),
        get("nobody owns its replicas", f"{_SETS}/c"),
        patch("its replicas by another manager", f"{_SETS}/c/scale?fieldManager=n", _scale("c", 4), APPLY),
    ],
    managed_fields=True,
)
