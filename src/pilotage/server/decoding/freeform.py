"""Free-form JSON in the body of a request: which text kube-apiserver has for it."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.rest.negotiation import JSON, YAML
from pilotage.rest.request import APIRequest, PatchType, Verb
from pilotage.server.codec import verbatim
from pilotage.server.resources import ResourceInfo

_BY_KEYS = (YAML, PatchType.STRATEGIC.value, PatchType.APPLY.value)
"""Where kube-apiserver decodes the whole object into maps, and writes them with their keys in order."""


def keep_sent_texts(document: Document, info: ResourceInfo, request: APIRequest) -> None:
    """Set the text of free-form values of immutable fields, in place: the text that was sent, or as Go writes it."""
    paths = verbatim.paths_of(info.api_version, info.gvk.kind)
    if not paths:
        return
    media = request.content_type or JSON
    if request.verb is not Verb.PATCH and media == JSON:
        verbatim.keep_texts(document, paths, request.body)
    else:
        verbatim.write_texts(document, paths, ordered=media in _BY_KEYS)
