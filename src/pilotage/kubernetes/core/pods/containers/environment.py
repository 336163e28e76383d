"""Environment variables of containers, and where their values come from."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.containers.fields import (
    VARIABLE_FIELDS,
    validate_field_reference,
    validate_resource_reference,
)
from pilotage.meta.causes import invalid, not_found
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import as_prefix, dns_1123_label, dns_1123_subdomain
from pilotage.server.strategies.checks import fields, texts

_is_origin = as_prefix(dns_1123_subdomain)  # Kubernetes checks these names as if more came after them
_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def validate_environment(container: Document, path: str) -> Iterator[Cause]:
    """The variables of a container, and the objects whose keys become variables."""
    for index, variable in enumerate(container.get("env") or ()):
        at = f"{path}.env[{index}]"
        yield from texts.required_text(variable.get("name"), f"{at}.name", texts.variable_name)
        source, has_value = variable.get("valueFrom"), bool(variable.get("value"))
        yield from fields.given(source, f"{at}.valueFrom", _validate_source, has_value=has_value)
    for index, source in enumerate(container.get("envFrom") or ()):
        yield from _validate_origin(source, f"{path}.envFrom", index)


def validate_file_keys(container: Document, path: str, volumes: dict[str, Document]) -> Iterator[Cause]:
    """Variables from files take them from an empty directory that the containers share."""
    for index, variable in enumerate(container.get("env") or ()):
        reference = (variable.get("valueFrom") or {}).get("fileKeyRef")
        if reference is None:
            continue
        name, at = reference.get("volumeName") or "", f"{path}.env[{index}].valueFrom.fileKeyRef.volumeName"
        if name not in volumes:
            yield not_found(at, name)
        elif volumes[name].get("emptyDir") is None:
            yield invalid(at, name, "referenced volume must be of type emptyDir")


def _validate_source(source: Document, path: str, *, has_value: bool) -> Iterator[Cause]:
    kinds = [kind for kind in _SOURCES if source.get(kind) is not None]
    for kind in kinds:
        yield from _validate_reference(kind, source[kind], f"{path}.{kind}")
    if not kinds:
        names = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield invalid(path, "", f"must specify one of: {names}")
    elif has_value:
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(kinds) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _validate_reference(kind: str, reference: Document, path: str) -> Iterator[Cause]:
    if kind == "fieldRef":
        yield from validate_field_reference(reference, path, VARIABLE_FIELDS)
    elif kind == "resourceFieldRef":
        yield from validate_resource_reference(reference, path, file=False)
    elif kind == "fileKeyRef":
        yield from texts.required_text(reference.get("key"), f"{path}.key", texts.variable_name)
        yield from texts.required_text(reference.get("volumeName"), f"{path}.volumeName", dns_1123_label)
        yield from fields.present(reference.get("path"), f"{path}.path", texts.no_backsteps)
    else:
        yield from texts.text(reference.get("name") or "", f"{path}.name")
        yield from texts.required_text(reference.get("key"), f"{path}.key", texts.config_key)


def _validate_origin(source: Document, path: str, index: int) -> Iterator[Cause]:
    at = f"{path}[{index}]"
    yield from texts.optional_text(source.get("prefix"), f"{at}.prefix", texts.variable_name)
    kinds = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
    for kind in kinds:
        yield from texts.required_text(source[kind].get("name"), f"{at}.{kind}.name", _is_origin)
    if not kinds:
        yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(kinds) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")
