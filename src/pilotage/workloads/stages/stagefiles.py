"""Stage files of kwok: YAML documents of the kind Stage (kwok.x-k8s.io/v1alpha1)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pilotage.errors import DecodeError, InvalidDefinition
from pilotage.meta.text import yamltext
from pilotage.workloads.stages import actions, amounts, selectors
from pilotage.workloads.stages.definitions import Spec, definition
from pilotage.workloads.stages.filestage import FileStage
from pilotage.workloads.stages.stage import ResourceRef

API_VERSION = "kwok.x-k8s.io/v1alpha1"
KIND = "Stage"


def read(path: Path) -> list[FileStage]:
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
    name = (document.get("metadata") or {}).get("name") if isinstance(document.get("metadata"), dict) else ""
    where = f"{source}: Stage {name}" if name else source
    given = definition(document, where)
    try:
        return _stage(given.spec, given.metadata.name, source)
    except InvalidDefinition as problem:
        raise InvalidDefinition(f"{where}: {problem}") from None


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


def _stage(spec: Spec, name: str, source: str) -> FileStage:
    resource = ResourceRef(spec.resource_ref.api_group or "v1", spec.resource_ref.kind)
    build = actions.Builder(resource)
    # As for kwok, steps replace next if there are both.
    steps = build.of_steps(spec.steps) or ([] if spec.next is None else build.of_next(spec.next))
    return FileStage(
        name,
        resource,
        None if spec.selector is None else selectors.selector(spec.selector),
        amounts.weight(spec),
        amounts.delay(spec.delay),
        tuple(steps),
        spec.immediate_next_stage,
        source,
    )
