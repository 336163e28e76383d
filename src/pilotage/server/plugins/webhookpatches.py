"""Applies the patches of mutating webhooks to the object of a write."""

from __future__ import annotations

from pilotage.errors import DecodeError, PatchError
from pilotage.meta.causes import internal_error
from pilotage.meta.documents import Document, make_whole
from pilotage.meta.patches import json_patch
from pilotage.meta.text import gojson, jsontext
from pilotage.server.admission import Attributes
from pilotage.server.matching.mutation import Mutation, go_message
from pilotage.server.plugins.webhookdispatch import CallFailed, WebhookInvocation
from pilotage.server.webhooks.reviews import JSON_PATCH, WebhookDecision


async def apply_patch(
    mutation: Mutation, attributes: Attributes, invocation: WebhookInvocation, verdict: WebhookDecision
) -> bool:
    """Apply the patch of a webhook, and set defaults. Returns whether it changed anything.

    Raises CallFailed for an invalid patch, and InternalError for one that does not apply.
    """
    name, match = invocation.hook.name, invocation.match
    operations = _operations(name, verdict.patch)
    if not operations:
        return False
    if attributes.new is None:
        reason = "attempted to modify the object, which is not supported for this operation"
        raise internal_error(f'admission webhook "{name}" {reason}')
    if verdict.patch_type != JSON_PATCH:
        raise CallFailed(f'failed calling webhook "{name}": unsupported patch type "{verdict.patch_type}"')
    before, _ = await mutation.objects.at(match)
    try:
        patched = json_patch.apply(before, operations)
    except PatchError as error:
        raise internal_error(go_message(error, operations)) from error
    if attributes.info is not None and attributes.info.custom:
        make_whole(patched)  # the webhook was given the object as Go writes it
    return await mutation.replace(patched, match)


def _operations(name: str, patch: bytes) -> list[Document]:
    """The operations of a patch, decoded but not checked."""
    reason = ""
    try:
        operations = gojson.read(patch)
    except (DecodeError, UnicodeDecodeError) as error:
        reason = str(error)
    else:
        if not isinstance(operations, list):
            reason = f"json: cannot unmarshal {jsontext.json_type(operations)} into Go value of type jsonpatch.Patch"
        elif not all(isinstance(operation, dict) for operation in operations):
            reason = "json: cannot unmarshal a value into Go value of type jsonpatch.Operation"
    if reason:
        text = f"received undecodable patch in webhook response: {reason}"
        raise CallFailed(f'failed calling webhook "{name}": {text}')
    return list(operations)
