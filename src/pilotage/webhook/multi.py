"""Several handlers as one webhook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pilotage.meta.patches import json_patch
from pilotage.webhook.admission import AdmissionHandler, AdmissionRequest, AdmissionResponse, allowed
from pilotage.webhook.functions import awaited
from pilotage.webhook.typed import TypedHandler


def multi_mutating_handler(*handlers: AdmissionHandler) -> TypedHandler:
    """Mutating handlers one after the other: each is given the object as those before it have changed it.

    The first that denies the request ends it, and no patch is sent. Warnings are collected.
    """
    return _one_after_the_other(handlers, mutating=True)


def multi_validating_handler(*handlers: AdmissionHandler) -> TypedHandler:
    """Validating handlers, all of which must allow the request: the first that denies it ends it."""
    return _one_after_the_other(handlers, mutating=False)


def _one_after_the_other(handlers: Sequence[AdmissionHandler], *, mutating: bool) -> TypedHandler:
    calls = [awaited(handler) for handler in handlers]

    async def handle(request: AdmissionRequest) -> AdmissionResponse:
        patches: list[Mapping[str, Any]] = []
        warnings: list[str] = []
        annotations: dict[str, str] = {}
        for call in calls:
            response: AdmissionResponse = await call(request)
            if not response.allowed:
                return response
            warnings += response.warnings
            annotations |= response.audit_annotations
            if mutating and response.patches:
                patches += response.patches
                request = replace(request, object=json_patch.apply(request.object, list(response.patches)))
        return AdmissionResponse(True, allowed().status, patches, warnings, annotations)

    return handle
