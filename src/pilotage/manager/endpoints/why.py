"""`/debug/why`: what `pilotage why` asks a running program. The answer is JSON, of bounded size."""

from __future__ import annotations

from urllib.parse import parse_qs

import msgspec

from pilotage.errors import NoMatch, PilotageError
from pilotage.history.why.answer import DEFAULT_LIMIT, MOST, Question
from pilotage.history.why.provenance import Target
from pilotage.http.health import text_response
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.manager.endpoints.explainer import Explainer

_MOST_TEXT = 1000
"""Characters of a parameter."""
_MOST_PARAMETERS = 10


async def respond(explainer: Explainer, request: HTTPRequest) -> HTTPResponse:
    """Answer a question: `type`, `name`, and if needed `namespace`, `limit` and `field`."""
    if request.method != "GET":
        return text_response(405, "method not allowed", ("Allow", "GET"))
    try:
        parameters = _parameters(request.target.partition("?")[2])
    except ValueError as error:
        return text_response(400, f"invalid question: {error}")
    try:
        mapping = await explainer.mapping(parameters["type"])
    except NoMatch as error:
        return text_response(404, f"{error}; {explainer.controllers_text()}")
    except PilotageError as error:
        return text_response(503, f"the type {parameters['type']!r} cannot be looked up: {error}")
    namespace = (parameters.get("namespace") or "default") if mapping.namespaced else ""
    target = Target(mapping.gvk.group_kind, namespace, parameters["name"])
    limit = min(int(parameters.get("limit", DEFAULT_LIMIT)), MOST)
    found = await explainer.answer(mapping, Question(target, limit, parameters.get("field", "")))
    return HTTPResponse(200, (("Content-Type", "application/json"),), msgspec.json.encode(found))


def _parameters(query: str) -> dict[str, str]:
    """The parameters of a question. Raises ValueError."""
    parsed = parse_qs(query, max_num_fields=_MOST_PARAMETERS, errors="strict")
    found = {name: values[0] for name, values in parsed.items()}
    for name in ("type", "name"):
        if not found.get(name):
            raise ValueError(f"the parameter {name} is missing")
    for name, value in found.items():
        if len(value) > _MOST_TEXT:
            raise ValueError(f"the parameter {name} has more than {_MOST_TEXT} characters")
    limit = found.get("limit", "0")
    if not (limit.isascii() and limit.isdigit() and len(limit) < 10):
        raise ValueError("limit must be a number")
    return found
