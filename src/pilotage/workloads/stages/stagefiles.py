"""Stage files of kwok: YAML documents of the kind Stage (kwok.x-k8s.io/v1alpha1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from pilotage.errors import DecodeError, InvalidDefinition
from pilotage.meta.text import yamltext
from pilotage.workloads.stages.fields import Text, read
from pilotage.workloads.stages.filestage import FileStage, Spec
from pilotage.workloads.stages.moment import function_names
from pilotage.workloads.stages.stage import ResourceRef

API_VERSION = "kwok.x-k8s.io/v1alpha1"
KIND = "Stage"


def read_path(path: Path) -> list[FileStage]:
    """The stages of a file, or those of all `*.yaml` files of a folder, which may have other objects beside them.

    Raises as `parse`, and InvalidDefinition for a path that cannot be read or has no Stage.
    """
    is_folder = path.is_dir()
    found: list[FileStage] = []
    for each in sorted(path.glob("*.yaml")) if is_folder else [path]:
        try:
            documents = _documents(each.read_bytes(), str(each))
        except OSError as error:
            raise InvalidDefinition(f"{each}: {error.strerror}") from None
        found += [stage(document, str(each)) for document in documents if not is_folder or is_stage(document)]
    if not found:
        raise InvalidDefinition(f"{path}: there is no Stage of {API_VERSION}")
    return found


def parse(text: str | bytes, source: str) -> list[FileStage]:
    """The stages of a file, in their order. `source` is its name in errors.

    Raises InvalidDefinition, with the file, the Stage and the field, for what is not valid or not supported, and
    MissingExtra for a CEL expression without the extra `cel`.
    """
    return [stage(document, source) for document in _documents(text, source)]


def is_stage(document: Any) -> bool:
    """Whether a document is a Stage. Folders of Stage files can have other objects beside them."""
    return isinstance(document, dict) and document.get("apiVersion") == API_VERSION and document.get("kind") == KIND


def stage(document: Any, source: str) -> FileStage:
    """The stage of a document. Raises as `parse`."""
    if not is_stage(document):
        raise InvalidDefinition(f"{source}: {_named(document)} is not a Stage of {API_VERSION}")
    metadata = document.get("metadata")
    name = read(metadata, Metadata, f"{source}: metadata", frozenset()).name
    where, spec = f"{source}: Stage {name}: spec", document.get("spec")
    reference = spec.get("resourceRef") if isinstance(spec, dict) else None
    kind = reference if isinstance(reference, dict) else {}
    functions = function_names(str(kind.get("apiGroup") or "v1"), str(kind.get("kind")))
    found = read(spec, Spec, where, functions)
    return FileStage(name, ResourceRef(found.resource_ref.api_group or "v1", found.resource_ref.kind), found)


class Metadata(msgspec.Struct):
    """The part of the metadata that is read."""

    name: Text


def _documents(text: str | bytes, source: str) -> Iterator[Any]:
    """The documents of a file, and the items of lists."""
    try:
        documents = yamltext.read_all(text, aliases=True)
    except DecodeError as error:
        raise InvalidDefinition(f"{source}: {error}") from None
    for document in documents:
        if isinstance(document, dict) and document.get("kind") in ("List", "StageList"):
            items = document.get("items") or []
            if not isinstance(items, list):
                raise InvalidDefinition(f"{source}: items: must be a list")
            yield from items
        else:
            yield document


def _named(document: Any) -> str:
    if not isinstance(document, dict):
        return "a document that is not an object"
    return f"{str(document.get('kind'))[:100]} of {str(document.get('apiVersion'))[:100]}"
