"""Stage files of kwok: YAML documents of the kind Stage (kwok.x-k8s.io/v1alpha1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.errors import DecodeError, InvalidDefinition
from pilotage.meta.text import yamltext
from pilotage.workloads.stages import actions, amounts, selectors
from pilotage.workloads.stages.fields import Fields, json_noun
from pilotage.workloads.stages.filestage import FileStage
from pilotage.workloads.stages.stage import ResourceRef

API_VERSION = "kwok.x-k8s.io/v1alpha1"
KIND = "Stage"


def parse(text: str | bytes, source: str) -> list[FileStage]:
    """The stages of a file, in their order. `source` is its name in errors.

    Raises InvalidDefinition, with the file, the Stage and the field, for what is not valid or not supported, and
    MissingExtra for a CEL expression without the extra `cel`.
    """
    try:
        documents = yamltext.read_all(text, aliases=True)
    except DecodeError as error:
        raise InvalidDefinition(f"{source}: {error}") from None
    return [stage(document, source) for document in _flattened(documents, source)]


def is_stage(document: Any) -> bool:
    """Whether a document is a Stage. Folders of Stage files can have other objects beside them."""
    return isinstance(document, dict) and document.get("apiVersion") == API_VERSION and document.get("kind") == KIND


def stage(document: Any, source: str) -> FileStage:
    """The stage of a document. Raises as `parse`."""
    if not is_stage(document):
        raise InvalidDefinition(f"{source}: {_named(document)} is not a Stage of {API_VERSION}")
    fields = Fields(document, "", source)
    fields.ignore("apiVersion", "kind", "status")
    metadata = fields.object("metadata")
    name = metadata.required("name") if metadata is not None else ""
    if not name:
        raise InvalidDefinition(f"{source}: metadata: is required")
    fields = Fields({key: document.get(key) for key in document}, "", f"{source}: Stage {name}")
    fields.ignore("apiVersion", "kind", "status", "metadata")
    spec = fields.object("spec")
    fields.end()
    if spec is None:
        raise fields.problem("spec", "is required")
    return _stage(spec, name, source)


def _flattened(documents: list[Any], source: str) -> Iterator[Any]:
    """The documents, and the items of lists."""
    for document in documents:
        if isinstance(document, dict) and document.get("kind") in ("List", "StageList"):
            items = document.get("items") or []
            if not isinstance(items, list):
                raise InvalidDefinition(f"{source}: items: must be a list, not {json_noun(items)}")
            yield from items
        else:
            yield document


def _named(document: Any) -> str:
    if not isinstance(document, dict):
        return f"a document that is {json_noun(document)}"
    return f"{str(document.get('kind'))[:100]} of {str(document.get('apiVersion'))[:100]}"


def _stage(spec: Fields, name: str, source: str) -> FileStage:
    reference = spec.object("resourceRef")
    if reference is None:
        raise spec.problem("resourceRef", "is required")
    resource = ResourceRef(reference.text("apiGroup") or "v1", reference.required("kind"))
    reference.end()
    selected, after = spec.object("selector"), spec.object("next")
    steps = actions.of_steps(spec.objects("steps"), resource)
    # As for kwok, steps replace next if there are both.
    following = actions.of_next(after, resource) if after is not None else []
    found = FileStage(
        name,
        resource,
        None if selected is None else selectors.selector(selected),
        amounts.weight(spec),
        amounts.delay(spec.object("delay")),
        tuple(steps or following),
        spec.boolean("immediateNextStage"),
        source,
    )
    spec.end()
    return found
