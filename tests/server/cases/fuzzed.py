"""What random sequences have found, as small cases; with managed fields."""

from __future__ import annotations

from typing import Any

from ..differential import APPLY, JSON_PATCH, STRATEGIC, Saved, Scenario, get, patch, post, put
from .kinds import definition

_SPEC = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"},
        "color": {"type": "string", "default": "red"},
        "list": {"type": "array", "items": {"type": "string"}},
    },
}
_STATUS = {"type": "object", "properties": {"replicas": {"type": "integer"}}}
_VERSION: dict[str, Any] = {
    "name": "v1",
    "served": True,
    "storage": True,
    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": _SPEC, "status": _STATUS}}},
    "subresources": {
        "status": {},
        "scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"},
    },
}
_HEAD = {"apiVersion": "<group>/v1", "kind": "Widget"}
_WIDGETS = "/apis/<group>/v1/namespaces/<namespace>/widgets"
_CORE = "/api/v1/namespaces/<namespace>"
_DEPLOYMENTS = "/apis/apps/v1/namespaces/<namespace>/deployments"
_TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "a", "image": "x"}]}}
_WORKLOAD = {"selector": {"matchLabels": {"a": "b"}}, "template": _TEMPLATE}
_DAEMON_SET = {"metadata": {"name": "one"}, "spec": _WORKLOAD}


def _widget(name: str, **fields: Any) -> dict[str, Any]:
    return {**_HEAD, "metadata": {"name": name}, **fields}


def _resources(**limits: Any) -> dict[str, Any]:
    container = {"name": "a", "image": "x", "resources": {"requests": {"cpu": "100m"}, "limits": limits}}
    return {"spec": {"template": {"spec": {"containers": [container]}}}}


def _secret(**fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}, **fields}


FUZZED = Scenario(
    "fuzzed",
    [
        # scales
        post("a widget without a spec", _WIDGETS, _widget("bare")),
        get("no replicas", _WIDGETS + "/bare/scale"),
        patch("replicas where there is no spec", _WIDGETS + "/bare/scale?fieldManager=a", {"spec": {"replicas": 2}}),
        get("defaults beside the replicas", _WIDGETS + "/bare"),
        patch("zero replicas", _WIDGETS + "/bare/scale?fieldManager=b", {"spec": {"replicas": None}}),
        get("zero replicas have no owner", _WIDGETS + "/bare"),
        post("labels and no spec", _WIDGETS, {**_HEAD, "metadata": {"name": "labelled", "labels": {"a": "1"}}}),
        patch("replicas without an owner", _WIDGETS + "/labelled/scale?fieldManager=a", {"spec": {"replicas": 2}}),
        get("they have no owner after that", _WIDGETS + "/labelled"),
        post("a spec that is a list", _WIDGETS, _widget("list", spec=[])),
        # parts that a write ignores
        post("a status of a wrong type", _WIDGETS, _widget("odd", spec={"size": 1}, status={"replicas": "x"})),
        post("a good one", _WIDGETS + "?fieldManager=a", _widget("good", spec={"size": 1}), save="good"),
        put("a status write with a wrong spec", _WIDGETS + "/good/status", Saved("good", {"spec": {"list": [[]]}})),
        # patches
        post("labels that are false", _WIDGETS, {**_HEAD, "metadata": {"name": "odd", "labels": False}}),
        patch(
            "labels that become false",
            _WIDGETS + "/good",
            [{"op": "add", "path": "/metadata/labels", "value": False}],
            JSON_PATCH,
        ),
        post("a deployment", _DEPLOYMENTS, {"metadata": {"name": "one"}, "spec": _WORKLOAD}),
        patch("null below a list", _DEPLOYMENTS + "/one", _resources(cpu=None, memory="1Gi")),
        patch("$patch: merge", _DEPLOYMENTS + "/one", {"$patch": "merge"}, STRATEGIC),
        patch(
            "$patch: merge of what is not there",
            _DEPLOYMENTS + "/one",
            {"metadata": {"labels": {"$patch": "merge", "a": "1"}}},
            STRATEGIC,
        ),
        patch(
            "$patch: merge in a list",
            _DEPLOYMENTS + "/one",
            {"spec": {"template": {"spec": {"containers": [{"$patch": "merge", "name": "a", "image": "y"}]}}}},
            STRATEGIC,
        ),
        # apply
        patch("bytes that are none", _CORE + "/secrets/one?fieldManager=a", _secret(data={"k": "a/b/c"}), APPLY),
        patch("a status of a missing widget", _WIDGETS + "/none/status?fieldManager=a", _HEAD, APPLY),
        # others
        post("a daemon set", "/apis/apps/v1/namespaces/<namespace>/daemonsets", _DAEMON_SET),
    ],
    [definition("widgets", "Widget", _VERSION)],
    managed_fields=True,
)
