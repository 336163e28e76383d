"""Options of list and watch: in fields of the message where the generation has them, else in call metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from pilotage.device.wire.generation import Generation
from pilotage.errors import BadRequest
from pilotage.rest.request import APIRequest, ListOptions, Verb
from pilotage.rest.response import Page

LABEL_SELECTOR = "label-selector"
FIELD_SELECTOR = "field-selector"
LIMIT = "limit"
CONTINUE = "continue"
"""Also in the initial metadata of a list: the token of the next page."""
REMAINING_ITEM_COUNT = "remaining-item-count"
"""In the initial metadata of a list: the number of remaining GPUs."""
ALLOW_WATCH_BOOKMARKS = "allow-watch-bookmarks"
SEND_INITIAL_EVENTS = "send-initial-events"
"""With it, an absent `resource_version_match` means NotOlderThan: V2 and V3 have no field for that."""

RESOURCE_VERSION = "resource-version"
DELETE_PRECONDITIONS = "delete-preconditions"
LABELS = "labels"
"""Labels and annotations of an object. Servers of V5 and V6 silently ignore these three parts of messages."""

UNDERSTOOD = "device-api-options"
"""In the initial metadata of a response: which of the above the server supports."""
UNDERSTOOD_OPTIONS = ",".join(
    (
        *(LABEL_SELECTOR, FIELD_SELECTOR, LIMIT, CONTINUE, ALLOW_WATCH_BOOKMARKS, SEND_INITIAL_EVENTS),
        *(RESOURCE_VERSION, DELETE_PRECONDITIONS, LABELS),
    )
)
STORAGE = "device-api-storage"
"""In the initial metadata of a response: the id of the storage of its resource versions. A version is valid while the
id is the same, across connections and restarts of the server."""
BOOKMARK_SECONDS = "device-api-bookmark-seconds"
"""In the initial metadata of a response: the interval of bookmarks on an idle watch with bookmarks."""
PROVIDER_ID = "provider-id"
"""Call metadata: the provider id of a write."""
KNOWS_LABELS = "knows-labels"
"""Call metadata of an update in V6: the caller supports labels and annotations, so absent means none. NVIDIA's clients
of V6 have no fields for them."""
WARNING = "device-api-warning"
"""In the initial metadata of a response: warnings."""

_NEVER_ON_THE_WIRE = ("finalizers", "ownerReferences")
_BOOLEANS = {"true": True, "false": False}
_LONGEST = 4096
"""Characters of a selector or a token: servers accept 8 KiB of metadata in total."""


def check(generation: Generation, request: APIRequest) -> None:
    """Raises BadRequest for options that the wire cannot carry and that change the response."""
    wanted = request.options
    if wanted.resource_version_match == "Exact" and generation in _WITHOUT_MATCH:
        raise not_carried(generation, "resource_version_match", "omit it: the response is the newest list")
    if wanted.resource_version not in ("", "0") and generation is Generation.V1:
        raise not_carried(generation, "resource_version", "omit it: the response is the newest state")


def not_carried(generation: Generation, option: str, instead: str) -> BadRequest:
    """The error for an option that no message of a generation has a field for."""
    return BadRequest(f"requests of the wire generation {generation.value.upper()} cannot carry {option}: {instead}")


def fill(generation: Generation, request: APIRequest, message: Any) -> None:
    """Write the options into a request for a list or a watch."""
    wanted = request.options
    if generation is Generation.V1:
        return
    if generation is Generation.V2:
        message.resource_version = wanted.resource_version
        return
    target = message.opts
    target.SetInParent()  # a server of V3 may require it
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


def metadata(generation: Generation, request: APIRequest) -> dict[str, str]:
    """The call metadata for options without a field. A server ignores unknown keys."""
    newest = generation is Generation.V8
    if request.verb is Verb.UPDATE and not request.subresource:
        return {} if newest else {KNOWS_LABELS: "true"}
    if request.verb not in (Verb.LIST, Verb.WATCH):
        return {}
    wanted = request.options
    texts = {FIELD_SELECTOR: wanted.field_selector}
    if not newest:
        texts[LABEL_SELECTOR] = wanted.label_selector
    if request.verb is Verb.LIST:
        texts |= {LIMIT: str(wanted.limit) if wanted.limit else "", CONTINUE: wanted.continue_token}
    found = {key: _portable(key, text) for key, text in texts.items() if text}
    if request.verb is Verb.WATCH and not newest:
        if wanted.allow_watch_bookmarks:
            found[ALLOW_WATCH_BOOKMARKS] = "true"
        if wanted.send_initial_events is not None:
            found[SEND_INITIAL_EVENTS] = "true" if wanted.send_initial_events else "false"
    return found


def from_metadata(verb: Verb, given: Mapping[str, str], options: ListOptions) -> ListOptions:
    """The options of a message and of the call metadata."""
    initial = _boolean(given, SEND_INITIAL_EVENTS) if verb is Verb.WATCH else None
    match = options.resource_version_match
    return ListOptions(
        label_selector=given.get(LABEL_SELECTOR, ""),
        **_of_metadata(verb, given),
        resource_version=options.resource_version,
        resource_version_match=match if match or initial is None else "NotOlderThan",
        timeout_seconds=options.timeout_seconds,
        allow_watch_bookmarks=verb is Verb.WATCH and _boolean(given, ALLOW_WATCH_BOOKMARKS) is True,
        send_initial_events=initial,
    )


def completed(verb: Verb, given: Mapping[str, str], options: ListOptions) -> ListOptions:
    """The options of a message of V8, and the options of the call metadata without a field in V8."""
    return replace(options, **_of_metadata(verb, given))


def page_metadata(page: Page) -> dict[str, str]:
    """The initial metadata of a list: what its message has no field for."""
    found = {CONTINUE: page.continue_token} if page.continue_token else {}
    if page.remaining_item_count is not None:
        found[REMAINING_ITEM_COUNT] = str(page.remaining_item_count)
    return found


def with_page_metadata(page: Page, given: Mapping[str, str]) -> Page:
    """The page of a response and its initial metadata."""
    remaining = given.get(REMAINING_ITEM_COUNT, "")
    return replace(
        page,
        continue_token=given.get(CONTINUE, ""),
        remaining_item_count=int(remaining) if remaining.isascii() and remaining.isdecimal() else None,
    )


def unspoken(generation: Generation, given: Mapping[str, str]) -> tuple[str, ...]:
    """The fields of metadata that the caller cannot send, so their absence does not remove them."""
    if generation is Generation.V8 or _boolean(given, KNOWS_LABELS):
        return _NEVER_ON_THE_WIRE
    return ("labels", "annotations", *_NEVER_ON_THE_WIRE)


def read_newest(target: Any) -> ListOptions:
    """Decode the options of a request of V8, which has fields for all of them."""
    return ListOptions(
        label_selector=target.label_selector,
        resource_version=target.resource_version,
        resource_version_match=target.resource_version_match,
        timeout_seconds=timeout(target),
        allow_watch_bookmarks=target.allow_watch_bookmarks,
        send_initial_events=target.send_initial_events if target.HasField("send_initial_events") else None,
    )


def timeout(target: Any) -> int | None:
    """The timeout, if it is set; 0 is a timeout too."""
    return target.timeout_seconds if target.HasField("timeout_seconds") else None


_WITHOUT_MATCH = (Generation.V1, Generation.V2, Generation.V3)


def _fill_newest(request: APIRequest, target: Any) -> None:
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


def _of_metadata(verb: Verb, given: Mapping[str, str]) -> dict[str, Any]:
    """The options for which no generation has a field. A watch has no pages."""
    found: dict[str, Any] = {"field_selector": given.get(FIELD_SELECTOR, "")}
    if verb is Verb.LIST:
        found |= {"limit": _count(given, LIMIT), "continue_token": given.get(CONTINUE, "")}
    return found


def _portable(key: str, text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise BadRequest(f"the option {key} must be printable ASCII, not {text[:100]!r}")
    if len(text) > _LONGEST:
        raise BadRequest(f"the option {key} has {len(text)} characters, and the limit is {_LONGEST}")
    return text


def _count(given: Mapping[str, str], key: str) -> int:
    text = given.get(key, "") or "0"
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise BadRequest(f"the call metadata {key} must be a number of 0 or more, not {text[:50]!r}")
    return int(text)


def _boolean(given: Mapping[str, str], key: str) -> bool | None:
    text = given.get(key, "")
    if not text:
        return None
    if text not in _BOOLEANS:
        raise BadRequest(f"the call metadata {key} must be true or false, not {text[:50]!r}")
    return _BOOLEANS[text]
