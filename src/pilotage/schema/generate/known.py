"""Types with a fixed schema: Quantity, times, object metadata, conditions."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from typing import Any
from uuid import UUID

from pilotage.meta.models import Condition, ObjectMeta
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.scalars.times import Duration, MicroTime
from pilotage.meta.unstructured import Unstructured
from pilotage.schema.generate.description import ScalarType

QUANTITY_PATTERN = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$"

SCALARS: dict[Any, tuple[ScalarType, str]] = {
    str: ("string", ""),
    bool: ("boolean", ""),
    int: ("integer", "int64"),
    float: ("number", "double"),
    bytes: ("string", "byte"),
    datetime: ("string", "date-time"),
    MicroTime: ("string", "date-time"),
    date: ("string", "date"),
    UUID: ("string", "uuid"),
    Duration: ("string", ""),
}
"""The type and format of each scalar. Duration has no format: the server's `duration` accepts more forms."""

INTEGER_OR_STRING: dict[Any, str] = {Quantity: QUANTITY_PATTERN}
"""Types that are written as a number or as a string, with the pattern of the string."""


def object_metadata() -> dict[str, Any]:
    """ObjectMeta inside an object, as in a template: the fields that a template may set. Others are pruned."""
    return {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "namespace": {"type": "string"},
            "labels": {"type": "object", "additionalProperties": {"type": "string"}},
            "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
            "finalizers": {"type": "array", "items": {"type": "string"}},
        },
    }


def condition() -> dict[str, Any]:
    """A condition, with the limits that Kubernetes' own has."""
    label = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
    subdomain = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
    return {
        "description": "One aspect of the object's state.",
        "type": "object",
        "required": ["type", "status", "reason", "message", "lastTransitionTime"],
        "properties": {
            "type": {
                "description": "Which aspect this is about, in CamelCase.",
                "type": "string",
                "maxLength": 316,
                "pattern": f"^({subdomain}/)?({label})$",
            },
            "status": {
                "description": "Whether it holds.",
                "type": "string",
                "enum": ["True", "False", "Unknown"],
            },
            "reason": {
                "description": "Why, in one CamelCase word for programs.",
                "type": "string",
                "minLength": 1,
                "maxLength": 1024,
                "pattern": r"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
            },
            "message": {"description": "Why, for people.", "type": "string", "maxLength": 32768},
            "lastTransitionTime": {
                "description": "When the status last changed.",
                "type": "string",
                "format": "date-time",
            },
            "observedGeneration": {
                "description": "The generation of the object that this was found for.",
                "type": "integer",
                "format": "int64",
                "minimum": 0,
            },
        },
    }


SCHEMAS: dict[Any, Callable[[], dict[str, Any]]] = {ObjectMeta: object_metadata, Condition: condition}

EMBEDDED: frozenset[Any] = frozenset({Unstructured})
"""Types for any whole Kubernetes object."""
