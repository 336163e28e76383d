"""Volumes whose files are made from other objects: keys of Secrets and ConfigMaps, fields of the pod, tokens."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.containers.fields import (
    FILE_FIELDS,
    validate_field_reference,
    validate_resource_reference,
)
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, numbers, texts

_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_KINDS = ("secret", "configMap", "downwardAPI", "serviceAccountToken")


def validate_mode(source: Document, path: str, name: str) -> Iterator[Cause]:
    """The permissions of files."""
    mode = source.get(name)
    if mode is not None and not 0 <= mode <= 0o777:
        yield invalid(f"{path}.{name}", mode, _MODE)


def validate_keys(source: Document, path: str) -> Iterator[Cause]:
    """Keys that become files."""
    for index, item in enumerate(source.get("items") or ()):
        at, file = f"{path}.items[{index}]", item.get("path") or ""
        yield from fields.needed(item, at, "key")
        yield from _validate_path(file, f"{at}.path")
        yield from validate_mode(item, at, "mode")


def validate_files(source: Document, path: str) -> Iterator[Cause]:
    """Files that show fields of the pod. The path of a cause does not show which file it is."""
    for file in source.get("items") or ():
        yield from _validate_path(file.get("path") or "", f"{path}.path")
        field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
        if field is not None:
            yield from validate_field_reference(field, f"{path}.fieldRef", FILE_FIELDS)
            if resource is not None:
                message = "fieldRef and resourceFieldRef can not be specified simultaneously"
                yield invalid(path, "resource", message)
        elif resource is not None:
            yield from validate_resource_reference(resource, f"{path}.resourceFieldRef", file=True)
        else:
            yield required(path, "one of fieldRef and resourceFieldRef is required")
        yield from validate_mode(file, path, "mode")


def validate_projected(source: Document, path: str) -> Iterator[Cause]:
    """Several sources in one volume, none of whose files hides another."""
    yield from validate_mode(source, path, "defaultMode")
    seen: set[str] = set()
    for index, projection in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        kinds = [kind for kind in _KINDS if projection.get(kind) is not None]
        for kind in kinds:
            yield from _validate_projection(kind, projection[kind], f"{at}.{kind}", path)
            if kind != "serviceAccountToken":
                yield from _validate_unique(kind, projection[kind], path, seen)
        if len(kinds) > 1:
            yield forbidden(at, "may not specify more than 1 volume type per source")


def _validate_projection(kind: str, source: Document, path: str, volume_path: str) -> Iterator[Cause]:
    if kind == "downwardAPI":
        yield from validate_files(source, path)
    elif kind == "serviceAccountToken":
        yield from numbers.token_lifetime(source.get("expirationSeconds") or 0, f"{path}.expirationSeconds")
        yield from fields.present(source.get("path"), f"{volume_path}.path", texts.file_path)
    else:
        yield from fields.needed(source, path, "name")
        yield from validate_keys(source, path)


def _validate_unique(kind: str, source: Document, path: str, seen: set[str]) -> Iterator[Cause]:
    for item in source.get("items") or ():
        file = item.get("path") or ""
        if file and file in seen:
            shown = file if kind == "downwardAPI" else source.get("name") or ""
            yield invalid(path, shown, "conflicting duplicate paths")
        seen.add(file)


def _validate_path(file: str, path: str) -> Iterator[Cause]:
    if not file:
        yield required(path)
    yield from texts.file_path(file, path)
