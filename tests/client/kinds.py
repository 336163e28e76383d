"""The kinds that the client's tests work with, as classes and as CRDs.

The CRDs are written out here, and have more fields than the classes: unknown fields must be preserved.
"""

from __future__ import annotations

from typing import Any

from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.models import Model, ObjectMeta, Resource, resource
from pilotage.meta.unstructured import Unstructured

GROUP = "tests.pilotage.dev"
WIDGET = GroupVersionKind(GROUP, "v1", "Widget")
CONFIG_MAP = GroupVersionKind("", "v1", "ConfigMap")


class Part(Model):
    name: str


class WidgetSpec(Model):
    size: int
    colour: str | None = None
    mode: str | None = None
    tags: list[str] = []
    parts: list[Part] = []


class WidgetStatus(Model):
    phase: str | None = None


@resource(group=GROUP, version="v1", status=True)
class Widget(Resource):
    """A class without the fields weight, settings and counts of its CRD."""

    spec: WidgetSpec
    status: WidgetStatus | None = None


class GadgetState(Model):
    phase: str | None = None


@resource(group=GROUP, version="v1")
class Gadget(Resource):
    """A kind without a status subresource."""

    status: GadgetState | None = None


@resource(group=GROUP, version="v1", scope="Cluster")
class Planet(Resource):
    """A cluster-scoped kind."""

    spec: dict[str, int] = {}


def new_widget(namespace: str, name: str = "one", *, labels: dict[str, str] | None = None, **spec: Any) -> Widget:
    metadata = ObjectMeta(name=name, namespace=namespace, labels=labels or {})
    return Widget(metadata=metadata, spec=WidgetSpec(**({"size": 1} | spec)))


def widget_document(namespace: str, name: str = "one", **spec: Any) -> Unstructured:
    return Unstructured(
        {
            "apiVersion": WIDGET.api_version,
            "kind": "Widget",
            "metadata": {"name": name, "namespace": namespace},
            "spec": {"size": 1} | spec,
        }
    )


_STRING, _INTEGER = {"type": "string"}, {"type": "integer"}
_STATUS = {"type": "object", "properties": {"phase": _STRING, "count": _INTEGER}}
_WIDGET_SPEC = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "colour": {"type": "string", "enum": ["red", "blue"]},
        "mode": {"type": "string", "default": "fast"},
        "note": {"type": "string"},
        "tags": {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 5}},
        "parts": {
            "type": "array",
            "items": {"type": "object", "required": ["name"], "properties": {"name": _STRING, "weight": _INTEGER}},
        },
        "settings": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    },
}


def definition(kind: str, properties: dict[str, Any], *, scope: str = "Namespaced", **version: Any) -> dict[str, Any]:
    """A CRD of the tests' group."""
    plural = f"{kind.lower()}s"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": scope,
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                }
                | version
            ],
        },
    }


WIDGETS = definition(
    "Widget",
    {"spec": _WIDGET_SPEC, "status": _STATUS},
    subresources={"status": {}},
    selectableFields=[{"jsonPath": ".spec.colour"}],
)
GADGETS = definition("Gadget", {"spec": {"type": "object"}, "status": _STATUS})
PLANETS = definition(
    "Planet", {"spec": {"type": "object", "additionalProperties": {"type": "integer"}}}, scope="Cluster"
)
