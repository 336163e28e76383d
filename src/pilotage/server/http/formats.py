"""The format of an answer to a request: negotiated, or refused with 406."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs

from pilotage.errors import InternalError, NotAcceptable, Status, StatusDetails
from pilotage.http.messages import Headers
from pilotage.rest.negotiation import ALL_FORMS, JSON, MEDIA_TYPES, NO_FORMS, PROTOBUF, YAML, ResponseFormat, negotiate
from pilotage.rest.request import APIRequest, Form, Verb
from pilotage.server.catalogue.actions import action_of
from pilotage.server.resources import ResourceInfo

STREAMS = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_ONLY = "only the following media types are accepted: "
_PEOPLE = ("curl", "Wget", "Mozilla/5.0")
_TRUE = ("1", "t", "T", "TRUE", "true", "True")


def format_of(headers: Headers, target: str, info: ResourceInfo, request: APIRequest) -> ResponseFormat:
    """The format of the answer to a request for a resource. Raises NotAcceptable."""
    accept = headers.get("accept")
    collection = request.verb in (Verb.LIST, Verb.WATCH)
    if not info.custom:
        check_produced(accept, (*MEDIA_TYPES, *STREAMS) if collection else MEDIA_TYPES)
    # What is answered and not stored, as a review or a token, has no columns.
    has_columns = info.verbs != (Verb.CREATE,) and action_of(info, request) is None
    if request.subresource in info.rules.without_table:
        has_columns = False
    forms = ALL_FORMS if has_columns else ALL_FORMS - {Form.TABLE}
    found = negotiate(accept, messages=not info.custom, forms=forms)
    if found is None:
        raise NotAcceptable(_ONLY + ", ".join(MEDIA_TYPES))
    if request.verb is Verb.WATCH and found.media == YAML:
        raise NotAcceptable(_ONLY + ", ".join(STREAMS))
    return replace(found, pretty=True) if is_pretty(headers, target) else found


def format_of_document(headers: Headers, *, routed: bool) -> ResponseFormat:
    """The format of a document about the API, which has no other forms. Raises NotAcceptable.

    `routed`: the document of a version of built-in resources, which is found by a route that has media types.
    """
    accept = headers.get("accept")
    if routed:
        check_produced(accept, MEDIA_TYPES)
    found = negotiate(accept, forms=NO_FORMS)
    if found is None:
        raise NotAcceptable(_ONLY + ", ".join(MEDIA_TYPES))
    return replace(found, pretty=True) if is_pretty(headers, "") else found


def format_of_error(headers: Headers, target: str) -> ResponseFormat:
    """The format of an error: never converted to another kind, and indented JSON if no accepted format is supported."""
    found = negotiate(headers.get("accept"), forms=NO_FORMS)
    if found is None:
        return ResponseFormat(pretty=True)
    return replace(found, pretty=True) if is_pretty(headers, target) else found


def is_pretty(headers: Headers, target: str) -> bool:
    """Whether JSON is indented: if the query requests it, and for programs that show it to people."""
    if "pretty" in target:
        wanted = parse_qs(target.partition("?")[2], max_num_fields=100).get("pretty", [""])[0]
        if wanted:
            return wanted in _TRUE
    return headers.get("user-agent").startswith(_PEOPLE)


def check_shape(asked: ResponseFormat, info: ResourceInfo, *, collection: bool) -> None:
    """Refuse the metadata of an object for a list, and the metadata of a list for an object."""
    if asked.form is Form.METADATA and collection != asked.kind.endswith("List"):
        if info.custom and not collection:
            raise InternalError(status=Status(500, "", "content is not a list"))
        what = "a list" if collection else "not a list"
        kind = _go_type(info) + ("List" if collection else "")
        raise NotAcceptable(f"you requested {asked.kind}, but the requested object is {what} (*{kind})")


def _go_type(info: ResourceInfo) -> str:
    """The type of an object in kube-apiserver, which clients see in messages."""
    if info.custom:
        return "unstructured.Unstructured"
    return f"{info.stored.gvk.group.partition('.')[0] or 'core'}.{info.gvk.kind}"


def check_produced(accept: str, produced: tuple[str, ...]) -> None:
    """Built-in resources compare the header with a list of media types first: `application/*` is not in it."""
    if not accept or any(part.partition(";")[0].strip() in ("*/*", *produced) for part in accept.split(",")[:64]):
        return
    message = f"406: Not Acceptable\n\nAvailable representations: {', '.join(produced)}"
    raise NotAcceptable(message, details=StatusDetails())
