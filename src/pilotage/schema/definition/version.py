"""Validates the parts of a version other than its schema: columns, subresources, selectable fields, deprecation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.schema.structural.fieldpaths import field_steps
from pilotage.schema.structural.node import Tree

MAXIMUM_SELECTABLE_FIELDS = 8
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_AT_ROOT = {
    "description": "Description",
    "type": "Type",
    "format": "Format",
    "title": "Title",
    "maximum": "Maximum",
    "exclusiveMaximum": "ExclusiveMaximum",
    "minimum": "Minimum",
    "exclusiveMinimum": "ExclusiveMinimum",
    "maxLength": "MaxLength",
    "minLength": "MinLength",
    "pattern": "Pattern",
    "maxItems": "MaxItems",
    "minItems": "MinItems",
    "uniqueItems": "UniqueItems",
    "multipleOf": "MultipleOf",
    "required": "Required",
    "items": "Items",
    "properties": "Properties",
    "externalDocs": "ExternalDocs",
    "example": "Example",
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}


def deprecation_causes(version: Mapping[str, Any], at: str) -> Iterator[Cause]:
    warning = version.get("deprecationWarning")
    if warning is None:
        return
    where = f"{at}.deprecationWarning"
    if not version.get("deprecated"):
        yield causes.invalid(where, warning, "can only be set for deprecated versions")
        return
    if len(warning.encode()) > 256:
        yield causes.invalid(where, warning, "must be <= 256 characters long")
    if not warning:
        yield causes.invalid(where, warning, "must not be an empty string")
    bad = next((index for index, each in enumerate(warning) if not each.isprintable()), None)
    if bad is not None:
        text = f"must only contain printable UTF-8 characters; non-printable character found at index {bad}"
        yield causes.invalid(where, warning, text)


def status_root_causes(schema: Mapping[str, Any], at: str) -> Iterator[Cause]:
    only = "if the status subresource is enabled"
    if schema.get("type") not in (None, "", "object"):
        text = f'only "object" is allowed as the type at the root of the schema {only}'
        yield causes.invalid(f"{at}.type", schema["type"], text)
    elif any(keyword not in _AT_ROOT and not _is_unset(keyword, value) for keyword, value in schema.items()):
        text = f"only [{' '.join(_AT_ROOT.values())}] fields are allowed at the root of the schema {only}"
        yield causes.invalid(at, schema, text)


def _is_unset(keyword: str, value: Any) -> bool:
    """Whether Kubernetes counts a keyword as absent: texts and flags that are empty, but not empty lists and zeros."""
    return value is None or value is False or (value == "" and not keyword.startswith("x-"))


def subresource_causes(subresources: Mapping[str, Any], at: str) -> Iterator[Cause]:
    scale = subresources.get("scale")
    if scale is None:
        return
    for name, under in (("specReplicasPath", (".spec.",)), ("statusReplicasPath", (".status.",))):
        where, path = f"{at}.scale.{name}", scale.get(name) or ""
        if not path:
            yield causes.required(where)
        else:
            yield from _path_causes(where, path, under)
    if path := scale.get("labelSelectorPath"):
        yield from _path_causes(f"{at}.scale.labelSelectorPath", path, (".spec.", ".status."))


def _path_causes(at: str, path: str, under: tuple[str, ...] = ()) -> Iterator[Cause]:
    if not path.startswith("."):
        yield causes.invalid(at, path, "must be a simple json path starting with .")
    elif under and not path.startswith(under):
        words = " or ".join(each.removesuffix(".") for each in under)
        yield causes.invalid(at, path, f"should be a json path under {'either ' if len(under) > 1 else ''}{words}")


def columns_causes(version: Mapping[str, Any], at: str) -> Iterator[Cause]:
    for index, column in enumerate(version.get("additionalPrinterColumns") or ()):
        where = f"{at}.additionalPrinterColumns[{index}]"
        if not column.get("name"):
            yield causes.required(f"{where}.name")
        kind, form, path = column.get("type") or "", column.get("format") or "", column.get("jsonPath") or ""
        text = f"must be one of {','.join(_COLUMN_TYPES)}"
        if not kind:
            yield causes.required(f"{where}.type", text)
        elif kind not in _COLUMN_TYPES:
            yield causes.invalid(f"{where}.type", kind, text)
        if form and form not in _COLUMN_FORMATS:
            yield causes.invalid(f"{where}.format", form, f"must be one of {','.join(_COLUMN_FORMATS)}")
        if not path:
            yield causes.required(f"{where}.JSONPath")
        else:
            yield from _path_causes(f"{where}.JSONPath", path)


def selectable_causes(version: Mapping[str, Any], at: str, *, has_schema: bool) -> Iterator[Cause]:
    """Fields can be selected only if the schema is declared at the same place: in each version, or once for all
    versions."""
    fields = version.get("selectableFields") or []
    schema = (version.get("schema") or {}).get("openAPIV3Schema")
    if fields and not has_schema and at == "spec":
        yield causes.invalid("spec.selectableFields", "", "may only be set when validations.schema is included")
        return
    if fields and (schema is None or not has_schema):
        detail = "may only be set when `version.schema.openAPIV3Schema` is not included"
        yield causes.invalid(f"{at}.selectableFields", "", detail)
        return
    schema = schema or {}
    seen: set[str] = set()
    for index, field in enumerate(fields):
        where, path = f"{at}.selectableFields[{index}].jsonPath", field.get("jsonPath") or ""
        if not path:
            yield causes.required(where)
            continue
        if problem := _selectable_problem(path, schema):
            yield causes.invalid(where, path, problem)
        elif path in seen:
            yield causes.duplicate(where, path)
        seen.add(path)
    if len(seen) > MAXIMUM_SELECTABLE_FIELDS:
        yield causes.too_many(f"{at}.selectableFields", len(seen), MAXIMUM_SELECTABLE_FIELDS)


def _selectable_problem(path: str, schema: Mapping[str, Any]) -> str:
    node = Tree(None).node(schema)
    try:
        if "[" in path:
            raise ValueError("array notation is not allowed")
        steps = field_steps(path, node)
    except ValueError as error:
        return f"is an invalid path: {error}"
    if steps[0] == "metadata":
        return "must not point to fields in metadata"
    for step in steps:
        node = node.properties.get(str(step)) or node.additional or node
    if node.type in ("string", "boolean", "integer"):
        return ""
    return (
        "must point to a field of type string, boolean or integer. "
        "Enum string fields and strings with formats are allowed."
    )
