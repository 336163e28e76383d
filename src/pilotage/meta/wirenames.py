"""Python's names in documents: where a caller wrote `theme_ref` and the API's name is `themeRef`.

A server drops a field that it does not know, so a document with Python's names would change nothing. Only names are
reported that the class at that place knows by its Python name: other fields may be ones that the server knows and the
class does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pilotage.meta.markers import PreserveUnknownFields
from pilotage.meta.models import FieldShape, Model, Resource, shapes
from pilotage.meta.patches.json_patch import pointer, pointer_text
from pilotage.meta.values import Value


class Misnamed(Value, frozen=True):
    """A field under its Python name: the path as it was written, and with the name that the API has for it."""

    path: str
    wire_path: str


def misnamed_fields(document: Any, model: type[Model]) -> list[Misnamed]:
    """The fields of a document (an object or a merge patch for it) that have Python's names."""
    return list(_in_object(document, model, ""))


def misnamed_operations(patch: Sequence[Any], model: type[Model]) -> list[Misnamed]:
    """The same for the paths and values of a JSON patch."""
    return [found for operation in patch if isinstance(operation, Mapping) for found in _in_operation(operation, model)]


def _in_object(value: Any, model: type[Model] | None, path: str) -> Iterator[Misnamed]:
    if model is None or not (value.__class__ is dict or isinstance(value, Mapping)):
        return
    known = shapes(model)
    for key, part in value.items():
        shape = known.get(key)
        inner = f"{path}.{key}" if path else key
        if shape is not None:
            yield from _in_field(part, shape, inner)
        elif (wire := _wire_name(key, model)) is not None:
            yield Misnamed(inner, f"{path}.{wire}" if path else wire)


def _in_field(value: Any, shape: FieldShape, path: str) -> Iterator[Misnamed]:
    if shape.model is None or shape.keeps_unknown_fields:
        return
    if shape.container == "list":
        for index, item in enumerate(value if isinstance(value, list | tuple) else ()):
            yield from _in_object(item, shape.model, f"{path}[{index}]")
    elif shape.container == "map":
        for key, item in value.items() if isinstance(value, Mapping) else ():
            yield from _in_object(item, shape.model, f"{path}[{key}]")
    else:
        yield from _in_object(value, shape.model, path)


def _in_operation(operation: Mapping[str, Any], model: type[Model]) -> Iterator[Misnamed]:
    for member in ("path", "from"):
        text = operation.get(member)
        if not isinstance(text, str):
            continue
        try:
            steps = pointer(text)
        except ValueError:
            return  # the server rejects it, with a reason
        written, inner = _renamed(steps, model)
        if written != steps:
            yield Misnamed(text, pointer_text(written))
        elif member == "path":
            value = operation.get("value")
            yield from (
                _in_field(value, inner, text) if isinstance(inner, FieldShape) else _in_object(value, inner, text)
            )


def _renamed(steps: tuple[str, ...], model: type[Model]) -> tuple[tuple[str, ...], FieldShape | type[Model] | None]:
    """The steps of a pointer under the API's names, and what is known of the value that they lead to."""
    made: list[str] = []
    here: FieldShape | type[Model] | None = model
    for step in steps:
        if isinstance(here, FieldShape):  # into a list or a map: the step is an index or a key
            made.append(step)
            here = here.model
            continue
        wire = step if here is None or step in shapes(here) else _wire_name(step, here) or step
        made.append(wire)
        here = _below(here, wire)
    return tuple(made), here


def _below(model: type[Model] | None, wire: str) -> FieldShape | type[Model] | None:
    shape = shapes(model).get(wire) if model is not None else None
    if shape is None or shape.model is None or shape.keeps_unknown_fields:
        return None
    return shape if shape.container else shape.model


def _wire_name(key: str, model: type[Model]) -> str | None:
    """The API's name of a field that is known by `key` in Python, where a field of that name would be dropped."""
    if any(isinstance(marker, PreserveUnknownFields) for marker in model.__markers__):
        return None
    if key == "api_version" and issubclass(model, Resource):
        return "apiVersion"
    return next((shape.name for shape in shapes(model).values() if shape.attribute == key), None)
