"""Options that a server may ignore: which are refused in advance, and which are confirmed by the response.

A message of the Device API has fields for some options only, and protobuf ignores a field that it does not know.
So an option that changes the meaning of a call is accepted only if the wire generation has it, the server announces it,
or the response itself confirms it.
"""

from __future__ import annotations

from pilotage.device.client.announced import Announced
from pilotage.device.wire import options as wire_options
from pilotage.device.wire.generation import Generation
from pilotage.errors import BadRequest, Cause, StatusDetails, Timeout
from pilotage.meta import objects
from pilotage.rest.request import APIRequest, ListOptions, Verb
from pilotage.rest.response import Bytes

_INSTEAD = "or use a server that announces it, such as `pilotage device serve`"


def check_options(generation: Generation, options: ListOptions, announced: Announced) -> None:
    """Raises BadRequest if the server may have ignored an option of a list or watch."""
    asked = {
        wire_options.FIELD_SELECTOR: bool(options.field_selector),
        wire_options.CONTINUE: bool(options.continue_token),
    }
    if generation is not Generation.V8:  # which has fields for these
        asked |= {
            wire_options.LABEL_SELECTOR: bool(options.label_selector),
            wire_options.SEND_INITIAL_EVENTS: options.send_initial_events is not None,
        }
    if missing := [name for name, wanted in asked.items() if wanted and name not in announced.options]:
        raise BadRequest(
            f"the Device API server does not support the option {', '.join(missing)}: it did not confirm it, and "
            f"wire generation {generation.value.upper()} has no field for it. Omit it and "
            f"filter the GPUs in the client, {_INSTEAD}"
        )


def check_page(options: ListOptions, version: str) -> None:
    """Compare the version of a list with the requested one. Raises BadRequest and Timeout."""
    wanted, match = options.resource_version, options.resource_version_match
    if wanted in ("", "0"):
        return
    if not version:
        raise BadRequest(
            f"the lists of this Device API server have no version, so version {wanted} cannot be requested: omit "
            "resource_version"
        )
    if match == "Exact" and version != wanted:
        raise BadRequest(
            f"the Device API server ignored resource_version_match=Exact: the list was requested at version "
            f"{wanted} and is at version {version}. Omit the option, {_INSTEAD}"
        )
    if wanted.isdecimal() and version.isdecimal() and int(version) < int(wanted):
        details = StatusDetails(causes=(Cause("ResourceVersionTooLarge", "Too large resource version"),))
        raise Timeout(f"Too large resource version: {wanted}, current: {version}", details=details)


def check_answer(generation: Generation, request: APIRequest, body: Bytes, announced: Announced) -> None:
    """Raises BadRequest for a GPU that may be older than the requested version."""
    wanted = request.options.resource_version
    if request.verb is not Verb.GET or wanted in ("", "0") or generation is Generation.V8:
        return
    found = objects.header(body).resource_version
    if wire_options.RESOURCE_VERSION in announced.options:
        return
    if not (found.isdecimal() and wanted.isdecimal() and int(found) >= int(wanted)):
        raise BadRequest(
            f"the Device API server did not confirm resource_version={wanted} of a get: the GPU is at version "
            f"{found or 'none'}, and whether the server has reached {wanted} is unknown. Omit it, {_INSTEAD}"
        )


def check_preconditions(generation: Generation, request: APIRequest, announced: Announced) -> None:
    """Raises BadRequest for a precondition that the server would ignore: it would delete the GPU anyway."""
    wanted = request.delete
    names = [name for name in ("uid", "resource_version") if getattr(wanted, name)]
    if not names or generation is Generation.V8 or wire_options.DELETE_PRECONDITIONS in announced.options:
        return
    raise BadRequest(
        f"the GPU was not deleted: the Device API server does not announce {wire_options.DELETE_PRECONDITIONS}, and "
        "servers of the "
        f"wire generations V5 and V6 ignore {' and '.join(names)} and delete by name. Compare the GPU "
        f"first and delete it by name alone, {_INSTEAD}"
    )


def lost_labels(generation: Generation, request: APIRequest, body: Bytes, announced: Announced) -> str:
    """The warning for labels and annotations that the server did not store; empty if there are none."""
    if request.verb not in (Verb.CREATE, Verb.UPDATE) or request.subresource or generation is Generation.V8:
        return ""
    if wire_options.LABELS in announced.options:
        return ""
    sent, kept = objects.header(request.body), objects.header(body)
    lost = [name for name in ("labels", "annotations") if getattr(sent, name) and not getattr(kept, name)]
    if not lost:
        return ""
    return f"the Device API server did not store {' and '.join(lost)}: servers of V5 and V6 have no fields for them"
