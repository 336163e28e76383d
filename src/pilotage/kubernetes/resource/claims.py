"""ResourceClaims, which request devices, their templates, and admin access."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.codec.verbatim import same_texts
from pilotage.errors import Cause
from pilotage.kubernetes.core.volumes.claims import validate_template_metadata
from pilotage.kubernetes.resource.allocation import drop_deallocated_devices, validate_claim_status
from pilotage.kubernetes.resource.devices import validate_device_claim
from pilotage.meta.causes import forbidden, invalid
from pilotage.meta.documents import Document, same
from pilotage.server.strategies.checks import fields
from pilotage.server.strategies.strategy import Strategy

ADMIN_ACCESS = "resource.kubernetes.io/admin-access"
_DETAIL = f"admin access to devices requires the `{ADMIN_ACCESS}: true` label on the containing namespace"


class ResourceClaimStrategy(Strategy):
    """The requests of a claim are immutable; the allocation is in its status."""

    def prepare_for_status_update(self, document: Document, old: Document) -> Document:
        result = super().prepare_for_status_update(document, old)
        drop_deallocated_devices(result, old)
        return result

    def validate(self, document: Document) -> Iterator[Cause]:
        return validate_device_claim(document["spec"].get("devices") or {}, "spec.devices")

    def privileges(self, document: Document, old: Document | None) -> tuple[str, list[Cause]]:
        if old is None:
            return ADMIN_ACCESS, requested_access(document["spec"].get("devices") or {})
        return ADMIN_ACCESS, granted_access(document, old)

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        unchanged = same(document["spec"], old["spec"]) and same_texts(document["spec"], old["spec"])
        return [] if unchanged else [invalid("spec", document["spec"], fields.IMMUTABLE)]

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return validate_claim_status(document, old)


class ResourceClaimTemplateStrategy(Strategy):
    """The claims that pods get; a template cannot change."""

    def validate(self, document: Document) -> list[Cause]:
        spec = document["spec"]
        return [
            *validate_template_metadata(spec.get("metadata") or {}, "spec.metadata"),
            *validate_device_claim((spec.get("spec") or {}).get("devices") or {}, "spec.spec.devices"),
        ]

    def privileges(self, document: Document, old: Document | None) -> tuple[str, list[Cause]]:
        devices = (document["spec"].get("spec") or {}).get("devices") or {}
        return ADMIN_ACCESS, requested_access(devices) if old is None else []

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        unchanged = same(document["spec"], old["spec"]) and same_texts(document["spec"], old["spec"])
        return [] if unchanged else [*self.validate(document), invalid("spec", document["spec"], fields.IMMUTABLE)]


def requested_access(devices: Document) -> list[Cause]:
    """The cause for the first request of a claim, or of a template's claim, with admin access."""
    for index, request in enumerate(devices.get("requests") or ()):
        if (request.get("exactly") or {}).get("adminAccess"):
            return [forbidden(f"spec.devices.requests[{index}].adminAccess", _DETAIL)]
    return []


def granted_access(claim: Document, old: Document) -> list[Cause]:
    """The cause for the first device that is allocated with admin access, unless the claim had one before."""
    if _granted(old) >= 0 or (index := _granted(claim)) < 0:
        return []
    return [forbidden(f"status.allocation.devices.results[{index}].adminAccess", _DETAIL)]


def _granted(claim: Document) -> int:
    devices = ((claim.get("status") or {}).get("allocation") or {}).get("devices") or {}
    return next((index for index, result in enumerate(devices.get("results") or ()) if result.get("adminAccess")), -1)
