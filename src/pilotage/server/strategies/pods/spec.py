"""What the spec of a pod, and the template of one, may be."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import required
from pilotage.meta.documents import Document


def validate_pod_template(template: Document, path: str) -> Iterator[Cause]:
    """What is wrong with a pod template; `path` is that of the template: `spec.template`."""
    yield from validate_pod_spec(template.get("spec") or {}, f"{path}.spec")


def validate_pod_spec(spec: Document, path: str) -> Iterator[Cause]:
    """What is wrong with the spec of a pod; `path` is that of the spec."""
    if not spec.get("containers"):
        yield required(f"{path}.containers")
