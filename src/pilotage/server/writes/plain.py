"""New custom resources that need no work: read, checked, completed and encoded in one pass.

Most objects that a program creates are complete and valid as they are, and no admission function sees them. The steps
of a write find nothing to do then (`writes.onepass` has the reason for each), and calling them takes longer than all
else. Whatever is not plain takes these steps one by one, from the beginning; a test compares the results of both.
"""

from __future__ import annotations

from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.meta.validation.objectmeta import is_plain
from pilotage.rest.negotiation import JSON
from pilotage.rest.request import APIRequest
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.decoding.bodies import accepts, is_encoded
from pilotage.server.decoding.fieldproblems import duplicate_fields
from pilotage.server.ownership.track import MANAGED_FIELDS, MAX_OUTLINED, entries_of_plain
from pilotage.server.resources import ResourceInfo

_JSON = ("", JSON)


def plain_value(context: RegistryContext, info: ResourceInfo, request: APIRequest) -> tuple[str, bytes] | None:
    """The name of the object to create, and the bytes to store; None if it is not plain."""
    body = request.body
    if not (info.plain and body.startswith(info.plain_head) and len(body) <= MAX_OUTLINED):
        return None
    if request.content_type not in _JSON or request.write.dry_run or context.admission_of(info):
        return None
    try:
        # The bytes are decoded, not the object: it may have values that JSON does not have, as tuples are.
        document = objects.read(body)
    except DecodeError:
        return None
    metadata = document["metadata"]
    # With another namespace, or none, than that of the path, there is something to set or to refuse.
    if not is_plain(metadata) or metadata.get("namespace", "") != request.namespace or not accepts(info, document):
        return None
    if not is_encoded(request) and duplicate_fields(body, document):
        return None
    now = context.now()
    if (entries := entries_of_plain(info, request, document, now)) is not None:
        metadata[MANAGED_FIELDS] = entries
    metadata["uid"], metadata["creationTimestamp"], metadata["generation"] = context.uid(), now, 1
    return metadata["name"], records.compact(document)
