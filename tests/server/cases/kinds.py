"""The kinds and paths that the scenarios use."""

from __future__ import annotations

from typing import Any

GROUP_VERSION = "/apis/<group>/v1"
WIDGETS = f"{GROUP_VERSION}/namespaces/<namespace>/widgets"
CONFIG_MAPS = "/api/v1/namespaces/<namespace>/configmaps"
SECRETS = "/api/v1/namespaces/<namespace>/secrets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/<namespace>/leases"
EVENTS = "/api/v1/namespaces/<namespace>/events"
NEW_EVENTS = "/apis/events.k8s.io/v1/namespaces/<namespace>/events"
NO_UID = "11111111-1111-1111-1111-111111111111"

SPEC: dict[str, Any] = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 5}},
        "mode": {"type": "string", "default": "fast"},
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["name"],
            "items": {
                "type": "object",
                "required": ["name"],
                "properties": {"name": {"type": "string"}, "weight": {"type": "integer"}},
            },
        },
    },
}
STATUS: dict[str, Any] = {"type": "object", "properties": {"phase": {"type": "string"}}}


def version(name: str = "v1", *, storage: bool = True, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"spec": SPEC, "status": STATUS}}
    defaults = {"served": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}
    return defaults | {"name": name, "storage": storage} | more


def definition(plural: str = "widgets", kind: str = "Widget", *versions: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.<group>"},
        "spec": {
            "group": "<group>",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": list(versions) or [version()],
        }
        | spec,
    }


def widget(name: str = "one", **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": "<group>/v1",
        "kind": "Widget",
        "metadata": {"name": name},
        "spec": {"size": 1},
    } | more
