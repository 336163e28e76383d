"""Content negotiation: which form of an answer an `Accept` header requests."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.errors import NotAcceptable
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

AGGREGATED_DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""The media type of discovery in one answer for all groups."""

_JSON = ("application/json", "application/*", "*/*")
_MAX_CLAUSES = 64


@dataclass(frozen=True, slots=True)
class Clause:
    """One alternative of an `Accept` header."""

    media: str
    parameters: dict[str, str]
    quality: float


def clauses(accept: str) -> list[Clause]:
    """The alternatives, the preferred one first."""
    parsed = [_clause(text) for text in accept.split(",")[:_MAX_CLAUSES] if text.strip()]
    return sorted((clause for clause in parsed if clause.quality > 0), key=lambda clause: -clause.quality)


def requested_form(accept: str, *, tables: bool = False) -> Form:
    """The first form among the alternatives that is served: JSON as it is, or nothing but metadata.

    An alternative with another form is skipped, so a server without Tables answers `as=Table,application/json` with
    plain JSON. Raises NotAcceptable if no alternative is left.
    """
    if not accept.strip():
        return Form.OBJECT
    for clause in clauses(accept):
        if clause.media not in _JSON:
            continue
        wanted = clause.parameters.get("as", "")
        if not wanted:
            return Form.OBJECT
        if clause.parameters.get("g") != "meta.k8s.io" or clause.parameters.get("v") not in ("v1", "v1beta1"):
            continue
        if wanted in ("PartialObjectMetadata", "PartialObjectMetadataList"):
            return Form.METADATA
        if tables and wanted == "Table":
            return Form.TABLE
    raise NotAcceptable(f"only the following media types are accepted: application/json (asked for: {accept[:200]})")


def wants_aggregated_discovery(accept: str) -> bool:
    """Whether aggregated discovery is preferred to one document for each group and version."""
    wanted = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
    for clause in clauses(accept):
        if clause.media in _JSON and clause.parameters == wanted:
            return True
        if clause.media in _JSON and not clause.parameters:
            return False
    return False


def _clause(text: str) -> Clause:
    media, *rest = (part.strip() for part in text.split(";"))
    parameters = {}
    for part in rest:
        name, _, value = part.partition("=")
        parameters[name.strip().lower()] = value.strip().strip('"')
    try:
        quality = float(parameters.pop("q", "1"))
    except ValueError:
        quality = 0.0
    return Clause(media.lower(), parameters, quality)
