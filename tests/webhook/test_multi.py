"""Several handlers as one."""

from __future__ import annotations

import pytest

import pilotage as pt

from .books import admission_request, book


def labelling(name: str) -> pt.webhook.AdmissionHandler:
    async def handle(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
        assert request.object is not None
        labels = {**request.object["metadata"].get("labels", {}), name: "yes"}
        return pt.webhook.patched("", {"op": "add", "path": "/metadata/labels", "value": labels}).with_warnings(name)

    return handle


async def refusing(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
    return pt.denied("no")


async def accepting(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
    return pt.allowed().with_warnings("careful")


@pytest.mark.covers("T177")
async def test_all_patches_and_warnings_are_sent() -> None:
    handle = pt.webhook.multi_mutating_handler(labelling("a"), labelling("b"))
    response = await handle(admission_request(object=book()))
    assert response.patches[-1]["value"] == {"a": "yes", "b": "yes"}
    assert (len(response.patches), response.warnings) == (2, ["a", "b"])


@pytest.mark.covers("T177")
async def test_a_denial_drops_the_patches() -> None:
    response = await pt.webhook.multi_mutating_handler(labelling("a"), refusing)(admission_request(object=book()))
    assert (response.allowed, list(response.patches)) == (False, [])


@pytest.mark.covers("T177")
async def test_all_validating_handlers_must_allow() -> None:
    request = admission_request(object=book())
    assert (await pt.webhook.multi_validating_handler(accepting, accepting)(request)).warnings == ["careful", "careful"]
    assert not (await pt.webhook.multi_validating_handler(accepting, refusing, accepting)(request)).allowed
