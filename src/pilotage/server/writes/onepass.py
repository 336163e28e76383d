"""Creates of custom resources that need no work: read, checked, completed and encoded in one pass.

Most objects that a program creates are complete and valid as they are, and no admission function sees them. The steps
of a write find nothing to do then (`NOTHING_TO_DO` has the reason for each), and calling them takes longer than
everything else. All other objects take these steps one by one; a test compares the results of both.
"""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.errors import DecodeError
from pilotage.meta import objects
from pilotage.meta.validation.objectmeta import is_minimal
from pilotage.rest.negotiation import JSON
from pilotage.rest.request import APIRequest
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.decoding.bodies import accepts, is_encoded
from pilotage.server.decoding.fieldproblems import duplicate_fields
from pilotage.server.ownership.track import MANAGED_FIELDS, MAX_OUTLINED, encoded_entries
from pilotage.server.resources import ResourceInfo

_JSON = ("", JSON)

NOTHING_TO_DO: Mapping[str, str] = {
    "bodies.read": "the body begins as a stored object of the kind does, is JSON, and has no field twice",
    "meta.wipe": "minimal metadata has no field that only the server sets",
    "set_namespace": "the namespace is the namespace of the path",
    "accepts": "it is called: the schema accepts the object as it is",
    "_check_version": "minimal metadata has no resource version",
    "_drop_empty_lists": "only built-in kinds have such lists",
    "info.default": "only a built-in kind has these defaults; the strategy of such a resource has no defaults",
    "schema.is_complete": "an accepted object is complete",
    "schema.prune": "an accepted object has no unknown field",
    "schema.default": "an accepted object has all defaults",
    "problems.report": "there are no unknown or duplicate fields",
    "info.forbidden": "a resource of a definition that is being deleted takes the steps",
    "meta.deduplicate_owners": "minimal metadata has no owners",
    "track_create": "`encoded_entries` makes the same entry",
    "tracked_create": "such a resource has one version, so no webhook converts its objects",
    "admission.mutate": "no function, plugin, webhook or policy sees a create of the resource",
    "admission.validate": "no function, plugin, webhook or policy sees a create of the resource",
    "info.strategy.set_requester": "only a built-in kind has one",
    "meta.reset": "minimal metadata has nothing to drop; the uid, the time and the generation are set",
    "info.codec.drop_disabled": "only a built-in kind has a codec",
    "info.strategy.prepare_for_create": "an accepted object has no status to drop",
    "info.strategy.warnings": "such a resource has no warnings",
    "info.strategy.privileges": "only a built-in kind has fields that need the label of a namespace",
    "privilege_causes": "only a built-in kind has fields that need the label of a namespace",
    "meta.create_causes": "minimal metadata is valid",
    "info.schema.validate": "an accepted object is valid",
    "strategy.validate": "such a resource has no rules outside of its schema",
    "info.strategy.canonicalize": "such a resource has one form",
    "info.schema.prune": "no webhook has added a field",
    "context.cleartext.check": "only Secrets are confidential",
    "context.allocator.allocate": "only Services have addresses and ports",
    "conversions.storable": "such a resource has one version: the stored one",
    "conversions.reread": "such a resource has one version: the stored one",
    "DefinitionNames.accept": "only definitions have names to accept",
}
"""Each step of a create, and why it does nothing to an object that `one_pass_value` accepts. A test compares them
with the steps that `verbs.create` takes: a new step needs a reason here, or a check in `one_pass_value`."""


def one_pass_value(context: RegistryContext, info: ResourceInfo, request: APIRequest) -> tuple[str, bytes] | None:
    """The name of the object to create, and the bytes to store; None if the steps of a create may have work to do."""
    body = request.body
    if not (info.one_pass and body.startswith(info.body_head) and len(body) <= MAX_OUTLINED):
        return None
    if request.content_type not in _JSON or request.write.dry_run or context.admission_of(info):
        return None
    try:
        # The bytes are decoded, not the object: it may have values that JSON does not have, as tuples are.
        document = objects.read(body)
    except DecodeError:
        return None
    metadata = document["metadata"]
    # With another namespace than the path, or none, there is something to set or to refuse.
    if not is_minimal(metadata) or metadata.get("namespace", "") != request.namespace or not accepts(info, document):
        return None
    if not is_encoded(request) and duplicate_fields(body, document):
        return None
    now = context.now()
    if (entries := encoded_entries(info, request, document, now)) is not None:
        metadata[MANAGED_FIELDS] = entries
    metadata["uid"], metadata["creationTimestamp"], metadata["generation"] = context.uid(), now, 1
    return metadata["name"], records.compact(document)
