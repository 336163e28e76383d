"""The annotation of created objects with the trace in which they are created, where tracing is configured to add it.

Only creates get it: an annotation that changes with each update would make each update a change, and its event would be
the cause of the next reconcile.
"""

from __future__ import annotations

from typing import Any

import msgspec

from pilotage.rest import APIRequest, Verb
from pilotage.telemetry.tracing import ANNOTATION, Tracing

_DECODER = msgspec.json.Decoder(dict[str, Any])
_NOT_ANNOTATED = {("", "events"), ("events.k8s.io", "events")}
"""Events are many, and cause nothing."""
_REVIEWS = ("authentication.k8s.io", "authorization.k8s.io")


def annotated(request: APIRequest, traces: Tracing) -> APIRequest:
    """The request with the annotation in its object, if it is a create in a span; else the request."""
    resource = request.resource
    if request.verb is not Verb.CREATE or request.subresource or resource.group in _REVIEWS:
        return request
    annotation = traces.annotation() if (resource.group, resource.resource) not in _NOT_ANNOTATED else ""
    if not annotation:
        return request
    try:
        document = _DECODER.decode(request.body)
    except msgspec.DecodeError:
        return request  # the server refuses it
    metadata = document.setdefault("metadata", {})
    annotations = (metadata.get("annotations") or {}) if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict) or ANNOTATION in annotations:
        return request
    metadata["annotations"] = {**annotations, ANNOTATION: annotation}
    return msgspec.structs.replace(request, body=msgspec.json.encode(document), encoded=None)
