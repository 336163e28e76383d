"""Options of list and watch: in the message as far as a generation has fields for them, the rest as call metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pilotage.device.wire.generation import Generation
from pilotage.errors import BadRequest
from pilotage.rest.request import ListOptions, Request, Verb

LABEL_SELECTOR = "label-selector"
ALLOW_WATCH_BOOKMARKS = "allow-watch-bookmarks"
SEND_INITIAL_EVENTS = "send-initial-events"
"""With it, an absent `resource_version_match` means NotOlderThan: V2 and V3 have no field for that."""

UNDERSTOOD = "device-api-options"
"""In the initial metadata of an answer: which of the above the server has understood."""
UNDERSTOOD_OPTIONS = ",".join((LABEL_SELECTOR, ALLOW_WATCH_BOOKMARKS, SEND_INITIAL_EVENTS))
PROVIDER_ID = "provider-id"
"""Call metadata: which provider is writing."""
KNOWS_LABELS = "knows-labels"
"""Call metadata of an update in V6: the caller knows labels and annotations, so that none means none. NVIDIA's clients
of V6 have no field for them, and send none because they cannot."""
WARNING = "device-api-warning"
"""In the initial metadata of an answer: what the server did otherwise than the caller may have meant."""

_NEVER_ON_THE_WIRE = ("finalizers", "ownerReferences")
_BOOLEANS = {"true": True, "false": False}


def check(generation: Generation, request: Request) -> None:
    """Refuse what cannot be said and would change the answer if it were left unsaid. A limit does not: all is given."""
    wanted = request.options
    if wanted.field_selector:
        raise BadRequest("the Device API has no field selectors: list all GPUs and choose, or get one by its name")
    if wanted.continue_token:
        raise BadRequest("the Device API gives a list whole: there is nothing to continue")
    if wanted.resource_version_match == "Exact" and generation in _WITHOUT_MATCH:
        raise BadRequest(f"the Device API of generation {generation.value.upper()} gives no list of an exact version")


def fill(generation: Generation, request: Request, message: Any) -> None:
    """Write the options into a request for a list or a watch."""
    wanted = request.options
    if generation is Generation.V1:
        return
    if generation is Generation.V2:
        message.resource_version = wanted.resource_version
        return
    target = message.opts
    target.SetInParent()  # a server of V3 may count on it
    if wanted.resource_version:
        target.resource_version = wanted.resource_version
    if generation is Generation.V3:
        return
    if wanted.resource_version_match:
        target.resource_version_match = wanted.resource_version_match
    if wanted.timeout_seconds is not None:
        target.timeout_seconds = wanted.timeout_seconds
    if generation is Generation.V8:
        _fill_newest(request, target)


def metadata(request: Request) -> dict[str, str]:
    """The call metadata that says what the message cannot. A server that does not know it passes over it."""
    if request.verb is Verb.UPDATE and not request.subresource:
        return {KNOWS_LABELS: "true"}
    if request.verb not in (Verb.LIST, Verb.WATCH):
        return {}
    wanted, found = request.options, {}
    if wanted.label_selector:
        if not (wanted.label_selector.isascii() and wanted.label_selector.isprintable()):
            raise BadRequest(f"a label selector is printable ASCII, not {wanted.label_selector[:100]!r}")
        found[LABEL_SELECTOR] = wanted.label_selector
    if request.verb is Verb.WATCH:
        if wanted.allow_watch_bookmarks:
            found[ALLOW_WATCH_BOOKMARKS] = "true"
        if wanted.send_initial_events is not None:
            found[SEND_INITIAL_EVENTS] = "true" if wanted.send_initial_events else "false"
    return found


def from_metadata(verb: Verb, given: Mapping[str, str], options: ListOptions) -> ListOptions:
    """The options that a message holds, together with those of the call metadata."""
    initial = _boolean(given, SEND_INITIAL_EVENTS) if verb is Verb.WATCH else None
    match = options.resource_version_match
    return ListOptions(
        label_selector=given.get(LABEL_SELECTOR, ""),
        resource_version=options.resource_version,
        resource_version_match=match if match or initial is None else "NotOlderThan",
        timeout_seconds=options.timeout_seconds,
        allow_watch_bookmarks=verb is Verb.WATCH and _boolean(given, ALLOW_WATCH_BOOKMARKS) is True,
        send_initial_events=initial,
    )


def unspoken(generation: Generation, given: Mapping[str, str]) -> tuple[str, ...]:
    """The fields of an object's metadata that a caller cannot speak of, so that their absence says nothing."""
    if generation is Generation.V8 or _boolean(given, KNOWS_LABELS):
        return _NEVER_ON_THE_WIRE
    return ("labels", "annotations", *_NEVER_ON_THE_WIRE)


def read_newest(target: Any) -> ListOptions:
    """The options of a request of V8, which has them all in the message."""
    return ListOptions(
        label_selector=target.label_selector,
        resource_version=target.resource_version,
        resource_version_match=target.resource_version_match,
        timeout_seconds=timeout(target),
        allow_watch_bookmarks=target.allow_watch_bookmarks,
        send_initial_events=target.send_initial_events if target.HasField("send_initial_events") else None,
    )


def timeout(target: Any) -> int | None:
    """The timeout, where one is given: no time at all is one too."""
    return target.timeout_seconds if target.HasField("timeout_seconds") else None


_WITHOUT_MATCH = (Generation.V1, Generation.V2, Generation.V3)


def _fill_newest(request: Request, target: Any) -> None:
    wanted = request.options
    if wanted.label_selector:
        target.label_selector = wanted.label_selector
    if request.verb is not Verb.WATCH:
        return
    target.watch = True
    if wanted.allow_watch_bookmarks:
        target.allow_watch_bookmarks = True
    if wanted.send_initial_events is not None:
        target.send_initial_events = wanted.send_initial_events


def _boolean(given: Mapping[str, str], key: str) -> bool | None:
    text = given.get(key, "")
    if not text:
        return None
    if text not in _BOOLEANS:
        raise BadRequest(f"the call metadata {key} must be true or false, not {text[:50]!r}")
    return _BOOLEANS[text]
