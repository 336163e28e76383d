"""Groups of the Kubernetes project: definitions in them have an annotation with the URL of their approval."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from pilotage.errors import Cause
from pilotage.meta import causes

APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_MORE = "see https://github.com/kubernetes/enhancements/pull/1111"
_MUST = f'protected groups must have approval annotation "{APPROVAL}"'


@dataclass(frozen=True, slots=True)
class Approval:
    """The result of the annotation: the status and reason of the condition KubernetesAPIApprovalPolicyConformant."""

    reason: str
    message: str

    @property
    def status(self) -> str:
        return "True" if self.reason == "ApprovedAnnotation" else "False"


def approval_of(definition: Mapping[str, Any]) -> Approval | None:
    """The approval of a definition, or None if its group is not protected."""
    group = (definition.get("spec") or {}).get("group") or ""
    if not any(group == name or group.endswith(f".{name}") for name in _PROTECTED):
        return None
    text = ((definition.get("metadata") or {}).get("annotations") or {}).get(APPROVAL) or ""
    if not text:
        return Approval("MissingAnnotation", f"{_MUST}, {_MORE}")
    if text.startswith("unapproved"):
        return Approval("UnapprovedAnnotation", f'not approved: "{text}"')
    if _is_url(text):
        return Approval("ApprovedAnnotation", f"approved in {text}")
    return Approval("InvalidAnnotation", f'{_MUST} with either a URL or a reason starting with "unapproved", {_MORE}')


def approval_causes(definition: Mapping[str, Any], old: Mapping[str, Any] | None) -> Iterator[Cause]:
    """What is wrong with the annotation. A state that the old definition had already is not rejected."""
    found, at = approval_of(definition), f"metadata.annotations[{APPROVAL}]"
    before = approval_of(old) if old is not None else None
    if found is None or (before is not None and before.reason == found.reason):
        return
    if found.reason == "MissingAnnotation":
        yield causes.required(at, found.message)
    elif found.reason == "InvalidAnnotation":
        yield causes.invalid(at, definition["metadata"]["annotations"][APPROVAL], found.message)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc)
