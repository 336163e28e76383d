"""The steps of a write that decide on plain documents, without I/O: default, track, prepare, validate.

The verbs call them in this order, with admission between them: `default`, `track_create` or `track_update` (of
`ownership`), mutating admission, `prepare_create` or `prepare_update`, `validate_create` or `validate_update`,
validating admission; then the object is stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pilotage.errors import Cause, RequestTooLarge
from pilotage.meta.documents import Document, make_whole, may_have_floats, nulls_in
from pilotage.meta.validation.names import dns_1123_label
from pilotage.meta.validation.objectmeta import MAX_CAUSES
from pilotage.rest.request import APIRequest, PatchType
from pilotage.schema.structural import DefaultsTooLargeError
from pilotage.server.decoding.bodies import accepts
from pilotage.server.decoding.fieldproblems import FieldProblems
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies import metadata as meta
from pilotage.server.strategies.rules import UNCHECKED
from pilotage.server.strategies.strategy import copy_field
from pilotage.storage.transaction import MAX_VALUE_BYTES


def default_create(
    info: ResourceInfo, request: APIRequest, document: Document, problems: FieldProblems
) -> tuple[bool, list[str]]:
    """As `default`, and whether the new object is accepted: complete and valid as it is. Then it needs no validation,
    unless admission changes it.
    """
    namespace = document["metadata"].get("namespace", "")  # it may be the namespace of the path
    if problems.minimal_metadata and not (namespace and dns_1123_label(namespace)) and accepts(info, document):
        return True, problems.report(request, info)
    return False, default(info, request, document, problems)


def default(
    info: ResourceInfo, request: APIRequest, document: Document, problems: FieldProblems, *, complete: bool = False
) -> list[str]:
    """Prune and default by the schema of a CRD, then by the strategy, in place. Returns the warnings about dropped
    fields. A document that is known to be `complete` needs no work by the schema.
    """
    schema = info.schema
    complete = complete or (schema is not None and schema.is_complete(document))
    if schema is not None and not complete:
        dropped = schema.prune(document)
        if request.content_type != PatchType.APPLY.value:  # what is applied has no unknown fields
            problems.unknown += dropped
        nulls = nulls_in(document) if request.content_type == PatchType.APPLY.value else []
        try:
            schema.default(document, limit=MAX_VALUE_BYTES)
        except DefaultsTooLargeError as error:
            raise RequestTooLarge(f"Request entity too large: {error}") from None
        for parent, name in nulls:  # as in Kubernetes, only a null that an apply leaves is not the same as absent
            parent.setdefault(name, None)
    warnings = problems.report(request, info)
    info.default(document)
    return warnings


def prepare_create(info: ResourceInfo, document: Document, now: str, uid: str) -> list[str]:
    """Turn a document into a new object, in place, except for a name to be generated. Returns the warnings."""
    metadata = document["metadata"]
    meta.reset(metadata, now=now, uid=uid)
    _drop_empty_lists(info, document)
    if info.codec is not None:
        info.codec.drop_disabled(document)
    info.strategy.prepare_for_create(document)
    return meta.deduplicate_owners(metadata) + info.strategy.warnings(document, None)


def prepare_update(
    info: ResourceInfo, request: APIRequest, document: Document, old: Document
) -> tuple[Document, list[str]]:
    """The next state of `old`: a subresource sets its part, and fields that only the server sets are kept. Also the
    warnings."""
    strategy, metadata = info.strategy, document["metadata"]
    warnings: list[str] = []
    meta.carry_over(metadata, old["metadata"], namespaced=info.namespaced)
    _drop_empty_lists(info, document)
    if info.codec is not None:
        info.codec.drop_disabled(document)
    if request.subresource == "status":
        document = strategy.prepare_for_status_update(document, old)
        warnings = strategy.status_warnings(document)
    elif request.subresource == "finalize":
        document = strategy.prepare_for_finalize_update(document, old)
    elif request.subresource:
        document = strategy.prepare_for_subresource_update(request.subresource, document, old)
        warnings = strategy.warnings(document, old) if request.subresource == "scale" else []
    else:
        strategy.prepare_for_update(document, old)
        warnings = strategy.warnings(document, old)
    if document["metadata"] is not metadata:  # what a subresource writes is tracked, too
        document["metadata"] = dict(document["metadata"])
        copy_field(document["metadata"], metadata, "managedFields")
    document["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"]
    return document, warnings


def _drop_empty_lists(info: ResourceInfo, document: Document) -> None:
    """Drop empty lists, which matter only for their owners, in place."""
    for *parents, name in info.rules.written_lists:
        holder: Any = document
        for parent in parents:
            holder = holder.get(parent) or {}
        if holder.get(name) == []:
            del holder[name]


def validate_create(info: ResourceInfo, request: APIRequest, document: Document) -> list[Cause]:
    """Everything that is wrong with a new object; a valid one is brought into its stored form."""
    strategy = info.strategy
    metadata = meta.create_causes(document["metadata"], info.rules, namespaced=info.namespaced)
    causes = schema_causes(info, request, document, None, metadata)
    causes += _first(strategy.validate(document))
    if not causes or info.rules.metadata_checks.update != UNCHECKED:  # else it is checked after the rest
        causes = metadata + causes
    if not causes:
        _canonicalize(info, request, document)
    return causes


def validate_update(
    info: ResourceInfo, request: APIRequest, document: Document, old: Document, tolerated: list[Cause] | None = None
) -> list[Cause]:
    """Everything that is wrong with the next state of an object; a valid one is brought into its stored form.

    Rules of a definition that fail in a part that does not change are added to `tolerated`.
    """
    strategy, metadata = info.strategy, document["metadata"]
    every = info.rules.metadata_checks
    checks = every.status if request.subresource == "status" else every.update
    causes = meta.update_causes(metadata, old["metadata"], info.rules, checks, namespaced=info.namespaced)
    causes += schema_causes(info, request, document, old, causes, tolerated)
    if not request.subresource:
        causes += _first(strategy.validate_update(document, old))
    elif request.subresource == "status":
        causes += _first(strategy.validate_status_update(document, old))
    elif request.subresource == "finalize":
        causes += _first(strategy.validate_finalize_update(document, old))
    else:
        causes += _first(strategy.validate_subresource_update(request.subresource, document, old))
    if not causes:
        _canonicalize(info, request, document)
    return causes


def _canonicalize(info: ResourceInfo, request: APIRequest, document: Document) -> None:
    info.strategy.canonicalize(document)
    schema = info.schema
    if schema is not None and may_have_floats(request.body) and (schema.floats or not schema.is_complete(document)):
        make_whole(document)  # rules have seen the numbers as they were sent


def _first(causes: Iterable[Cause]) -> Iterator[Cause]:
    """The maximum number of causes of an answer, and one more cause that states that there are others."""
    return islice(causes, MAX_CAUSES + 1)


def drop_unknown(info: ResourceInfo, document: Document) -> None:
    """Drop fields that webhooks have added to a custom resource and that its schema does not know, in place. This is
    the last step: the validating webhooks see these fields.
    """
    if info.schema is not None:
        info.schema.prune(document)


def schema_causes(
    info: ResourceInfo,
    request: APIRequest,
    document: Document,
    old: Document | None,
    metadata: list[Cause],
    tolerated: list[Cause] | None = None,
) -> list[Cause]:
    """The causes of the schema of a definition; the rules of a built-in kind are in its strategy.

    What is wrong with the metadata may keep rules of a definition from being evaluated.
    """
    if info.schema is None:
        return []
    check = info.schema.validate_status if request.subresource == "status" else info.schema.validate
    return check(document, old, metadata=metadata, tolerated=tolerated)
