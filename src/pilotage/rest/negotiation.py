"""Content negotiation: which format of an answer an `Accept` header requests."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from pilotage.rest.request import Form

JSON = "application/json"
YAML = "application/yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"

ACCEPT = {
    Form.OBJECT: "application/json",
    Form.METADATA: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
    Form.TABLE: "application/json;as=Table;g=meta.k8s.io;v=v1,application/json",
}
LIST_ACCEPT = ACCEPT | {
    Form.METADATA: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
}

AGGREGATION = ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""The parameters of a media type for discovery in one answer for all groups."""
AGGREGATED_DISCOVERY = f"{JSON}{AGGREGATION}"

MEDIA_TYPES = (JSON, YAML, PROTOBUF)
"""The formats of answers; the first one is used if a client accepts any."""
FORMS = {
    "Table": Form.TABLE,
    "PartialObjectMetadata": Form.METADATA,
    "PartialObjectMetadataList": Form.METADATA,
}
"""The kinds that an answer can be converted to, all of the group `meta.k8s.io`."""
ALL_FORMS = frozenset(FORMS.values())
NO_FORMS: frozenset[Form] = frozenset()
_AGGREGATED = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
_OWN_DISCOVERY = _AGGREGATED | {"profile": "nopeer"}
"""The variant without the resources of aggregated servers, of which there are none."""
_MAX_CLAUSES = 64
_SHORT = 256
"""The maximum length of a header whose format is cached: a program sends the same header with each request."""


@dataclass(frozen=True, slots=True)
class Clause:
    """One alternative of an `Accept` header."""

    media: str
    parameters: dict[str, str]
    quality: float


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """How an answer is written."""

    media: str = JSON
    form: Form = Form.OBJECT
    kind: str = ""
    """The kind that the answer is converted to, where it is."""
    version: str = "v1"
    """The version of that kind."""
    pretty: bool = False


def clauses(accept: str) -> list[Clause]:
    """The alternatives, the preferred one first. A quality of 0 is the lowest, and not a refusal, as in Kubernetes."""
    parsed = [_clause(text) for text in accept.split(",")[:_MAX_CLAUSES] if text.strip()]
    return sorted(parsed, key=lambda clause: (-clause.quality, clause.media == "*/*", clause.media.endswith("/*")))


def negotiate(accept: str, *, messages: bool = True, forms: frozenset[Form] = ALL_FORMS) -> ResponseFormat | None:
    """The format of the first alternative that can be served; None if none can.

    `messages`: whether the object can be written as protobuf. `forms`: what it can be converted to.
    An alternative that cannot be served is skipped, so `as=Unknown,application/json` is plain JSON.
    """
    if len(accept) > _SHORT:
        return _negotiated(accept, messages, forms)
    return _kept_format(accept, messages, forms)


def _negotiated(accept: str, messages: bool, forms: frozenset[Form]) -> ResponseFormat | None:
    if not accept.strip():
        return ResponseFormat()
    for clause in clauses(accept):
        for media in MEDIA_TYPES:
            if clause.media in (media, "application/*", "*/*"):
                found = _format(clause, media, messages=messages, forms=forms)
                if found is not None:
                    return found
    return None


_kept_format = lru_cache(maxsize=256)(_negotiated)


def _format(clause: Clause, media: str, *, messages: bool, forms: frozenset[Form]) -> ResponseFormat | None:
    given = clause.parameters
    if given.get("stream", "watch") not in ("", "watch") or (given.get("stream") and media == YAML) or given.get("sv"):
        return None
    pretty = given.get("pretty") == "1"
    if given.keys().isdisjoint(("as", "g", "v")):
        return None if media == PROTOBUF and not messages else ResponseFormat(media, pretty=pretty)
    kind, version = given.get("as", ""), given.get("v", "")
    form = FORMS.get(kind)
    if form not in forms or form is None or given.get("g") != "meta.k8s.io" or version not in ("v1", "v1beta1"):
        return None
    if form is Form.TABLE and media == PROTOBUF:
        return None  # it has no message
    return ResponseFormat(media, form, kind, version, pretty)


def requested_form(accept: str) -> Form:
    """The form of objects that an `Accept` header prefers; the plain one where nothing of it can be served."""
    return (negotiate(accept) or ResponseFormat()).form


def aggregated_discovery(accept: str) -> str:
    """The media type in which aggregated discovery is preferred to one document for each group; empty if it is not."""
    for clause in clauses(accept):
        for media in MEDIA_TYPES:
            if clause.media not in (media, "application/*", "*/*"):
                continue
            if clause.parameters in (_AGGREGATED, _OWN_DISCOVERY):
                return media
            if not clause.parameters:
                return ""
    return ""


def _clause(text: str) -> Clause:
    media, *rest = (part.strip() for part in text.split(";"))
    parameters = {}
    for part in rest:
        name, _, value = part.partition("=")
        parameters[name.strip().lower()] = value.strip().strip('"')
    try:
        quality = float(parameters.pop("q", "1"))
    except ValueError:
        quality = 1.0
    return Clause(media, parameters, quality)
