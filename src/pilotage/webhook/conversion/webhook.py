"""The webhook at `/convert`: answers the ConversionReviews of an API server."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from pilotage.errors import DecodeError, InvalidDefinition
from pilotage.http.limits import MEBIBYTE
from pilotage.http.messages import HTTPRequest
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind
from pilotage.telemetry.logs import logger
from pilotage.telemetry.metrics import REGISTRY
from pilotage.webhook.conversion.conversions import Conversions
from pilotage.webhook.webhook import review_version

log = logger("controller-runtime.webhook.conversion")

PANICS = REGISTRY.counter(
    "controller_runtime_conversion_webhook_panics_total",
    "Total number of conversion webhook panics: errors that a conversion did not expect.",
)

PATH = "/convert"
_GROUP = "apiextensions.k8s.io"
_BATCH = 100
"""Objects that are converted before other tasks have their turn: a review may have thousands."""


class ConversionWebhook:
    """Converts objects of all kinds that were added. An API server sends whole lists in one review."""

    max_body_bytes: ClassVar[int] = 64 * MEBIBYTE

    def __init__(self) -> None:
        self._kinds: dict[GroupKind, Conversions] = {}

    def add(self, conversions: Conversions) -> None:
        """Convert the versions of one more kind."""
        if conversions.hub.group_kind in self._kinds:
            raise InvalidDefinition(f"{conversions.hub.kind} has conversions already")
        self._kinds[conversions.hub.group_kind] = conversions

    async def review(self, document: Document, http_request: HTTPRequest | None = None) -> Document:
        try:
            api_version = review_version(document, "ConversionReview", _GROUP)
        except DecodeError as error:
            return self.refused(400, str(error))
        request = document.get("request")
        if not isinstance(request, dict):
            return self.refused(400, "the ConversionReview has no request")
        uid = str(request.get("uid", ""))
        try:
            converted = await self._convert(request)
        except Exception as error:
            log.error("Unable to convert", error=str(error), requestID=uid)
            return _review(api_version, {"uid": uid, "convertedObjects": [], "result": _failure(str(error))})
        return _review(api_version, {"uid": uid, "convertedObjects": converted, "result": {"status": "Success"}})

    def refused(self, code: int, message: str) -> Document:
        result = _failure(message) | {"code": code}
        return _review(f"{_GROUP}/v1", {"uid": "", "convertedObjects": [], "result": result})

    async def _convert(self, request: Document) -> list[Document]:
        target = str(request.get("desiredAPIVersion", ""))
        converted: list[Document] = []
        for index, found in enumerate(request.get("objects") or ()):
            if index % _BATCH == _BATCH - 1:
                await asyncio.sleep(0)
            converted.append(self._object(found, target))
        return converted

    def _object(self, document: Document, target: str) -> Document:
        group, _, _ = str(document.get("apiVersion", "")).rpartition("/")
        kind = str(document.get("kind", ""))
        conversions = self._kinds.get(GroupKind(group, kind))
        metadata = document.get("metadata") or {}
        name = "/".join(part for part in (metadata.get("namespace"), metadata.get("name")) if part)
        what = f"{kind} {name}".strip()
        if conversions is None:
            raise ValueError(f"{what} cannot be converted: this program has no conversions of {kind}.{group}")
        try:
            return conversions.convert(document, target)
        except Exception as error:
            expected = isinstance(error, ValueError | DecodeError)
            if not expected:
                PANICS.labels().inc()
            reason = str(error) if expected else f"{type(error).__name__}: {error}"
            raise ValueError(f"{what} cannot be converted to {target}: {reason}") from error


def _failure(message: str) -> Document:
    return {"status": "Failure", "message": message}


def _review(api_version: str, response: Document) -> Document:
    return {"apiVersion": api_version, "kind": "ConversionReview", "response": response}
