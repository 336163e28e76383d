"""Admin access to devices that others use: only in namespaces that an administrator has labelled."""

from __future__ import annotations

from pilotage.errors import Cause
from pilotage.meta.causes import forbidden
from pilotage.meta.documents import Document

ADMIN_ACCESS = "resource.kubernetes.io/admin-access"
_DETAIL = f"admin access to devices requires the `{ADMIN_ACCESS}: true` label on the containing namespace"


def requested_access(devices: Document) -> list[Cause]:
    """The cause for the first request of a claim, or of a template's claim, that asks for admin access."""
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
