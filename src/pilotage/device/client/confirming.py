"""Options that a server may ignore: what must be refused beforehand, and what its answer must show.

A message of the Device API has fields for some options only, and protobuf ignores a field that it does not know.
So an option that changes the meaning of a call counts as honoured where the wire generation has it, where the server
announces it, or where the answer itself shows it.
"""

from __future__ import annotations

import msgspec

from pilotage.device.client.announced import Announced
from pilotage.device.wire import Generation
from pilotage.device.wire import options as wire_options
from pilotage.errors import BadRequest, Cause, StatusDetails, Timeout
from pilotage.meta import objects
from pilotage.rest.request import ListOptions, Request, Verb
from pilotage.rest.response import Bytes

_INSTEAD = "or use a server that announces it, such as `pilotage device serve`"


def check_options(generation: Generation, options: ListOptions, announced: Announced) -> None:
    """Refuse the answer to another list or watch than was asked for. Raises BadRequest."""
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
            f"the Device API server does not know the option {', '.join(missing)}: it did not confirm it, and the wire "
            f"generation {generation.value.upper()} has no field for it. Leave it out and "
            f"choose among the GPUs yourself, {_INSTEAD}"
        )


def check_page(options: ListOptions, version: str) -> None:
    """Refuse a list of another version than was asked for: by the list's own version. Raises BadRequest and Timeout."""
    wanted, match = options.resource_version, options.resource_version_match
    if wanted in ("", "0"):
        return
    if not version:
        raise BadRequest(
            f"the Device API server's lists have no version, so that none can be asked for {wanted}: leave "
            "resource_version out"
        )
    if match == "Exact" and version != wanted:
        raise BadRequest(
            f"the Device API server ignored resource_version_match=Exact: it was asked for a list at version "
            f"{wanted} and gave one at {version}. Leave it out, {_INSTEAD}"
        )
    if wanted.isdecimal() and version.isdecimal() and int(version) < int(wanted):
        details = StatusDetails(causes=(Cause("ResourceVersionTooLarge", "Too large resource version"),))
        raise Timeout(f"Too large resource version: {wanted}, current: {version}", details=details)


def check_answer(generation: Generation, request: Request, body: Bytes, announced: Announced) -> None:
    """Refuse a GPU that may be older than was asked for. Raises BadRequest."""
    wanted = request.options.resource_version
    if request.verb is not Verb.GET or wanted in ("", "0") or generation is Generation.V8:
        return
    found = objects.header(body).resource_version
    if wire_options.RESOURCE_VERSION in announced.options:
        return
    if not (found.isdecimal() and wanted.isdecimal() and int(found) >= int(wanted)):
        raise BadRequest(
            f"the Device API server did not confirm resource_version={wanted} of a get: it gave the GPU at version "
            f"{found or 'none'}, and whether it has reached {wanted} is not known. Leave it out, {_INSTEAD}"
        )


def check_preconditions(generation: Generation, request: Request, announced: Announced) -> None:
    """Refuse to delete on a condition that the server would ignore: it would delete anyway. Raises BadRequest."""
    wanted = request.delete
    names = [name for name in ("uid", "resource_version") if getattr(wanted, name)]
    if not names or generation is Generation.V8 or wire_options.DELETE_PRECONDITIONS in announced.options:
        return
    raise BadRequest(
        f"not deleted: the Device API server does not announce {wire_options.DELETE_PRECONDITIONS}, and servers of the "
        f"wire generations V5 and V6 ignore {' and '.join(names)} and delete whatever has the name. Compare the GPU "
        f"yourself and delete it by its name alone, {_INSTEAD}"
    )


class _Metadata(msgspec.Struct):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class _Labelled(msgspec.Struct):
    metadata: _Metadata = msgspec.field(default_factory=_Metadata)


def lost_labels(generation: Generation, request: Request, body: Bytes, announced: Announced) -> str:
    """The warning for labels and annotations that were sent and have not been stored; empty where there is none."""
    if request.verb not in (Verb.CREATE, Verb.UPDATE) or request.subresource or generation is Generation.V8:
        return ""
    if wire_options.LABELS in announced.options:
        return ""
    sent, kept = (msgspec.json.decode(data, type=_Labelled).metadata for data in (request.body, body))
    lost = [name for name in ("labels", "annotations") if getattr(sent, name) and not getattr(kept, name)]
    if not lost:
        return ""
    return f"the Device API server has not stored {' and '.join(lost)}: servers of V5 and V6 have no fields for them"
