"""Normalizes documents of other writers: `null` for an absent field, an absent list where one is required."""

from __future__ import annotations

from typing import Any

import msgspec

from pilotage.meta.models import FieldShape, ManagedFieldsEntry, Model, shapes


def normalized(document: Any, model: type[Model]) -> Any:
    """A copy of `document` in which `model` can decode absent and null fields; values of wrong types are not changed.

    `null` is dropped where it is not a value of the field, an absent list or map that is required becomes an empty one,
    and a whole number written as `1.0` is a whole number.
    """
    if not isinstance(document, dict):
        return document
    made = dict(document)
    for name, shape in shapes(model).items():
        value = made.get(name)
        if value is not None:
            made[name] = _value(value, shape)
        elif name not in made or not shape.nullable:
            made.pop(name, None)
            if shape.required and shape.container:
                made[name] = [] if shape.container == "list" else {}
    if model is ManagedFieldsEntry and "fieldsV1" in made:
        made["fieldsV1"] = msgspec.Raw(msgspec.json.encode(made["fieldsV1"]))
    return made


def _value(value: Any, shape: FieldShape) -> Any:
    if shape.model is None:
        return int(value) if isinstance(value, float) and value.is_integer() else value
    model = shape.model
    if shape.container == "list" and isinstance(value, list):
        return [normalized(item, model) for item in value]
    if shape.container == "map" and isinstance(value, dict):
        return {key: normalized(item, model) for key, item in value.items()}
    return normalized(value, model) if not shape.container else value
