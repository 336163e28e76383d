"""The volumes of a pod: their names, and that each has one source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.volumes.sources import SOURCES, validate_source
from pilotage.meta.causes import duplicate, forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label, dns_1123_subdomain
from pilotage.server.strategies.checks import texts

_MORE_THAN_ONE = "may not specify more than 1 volume type"
_OTHER_FIELDS = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
"""Where a second source is reported under another name than its own."""


def validate_volumes(
    spec: Document, path: str, metadata: Document | None, valid: dict[str, Document]
) -> Iterator[Cause]:
    """The volumes of a spec. The valid ones are put into `valid` by their names."""
    volumes = spec.get("volumes") or ()
    pod = (metadata or {}).get("name") or ""
    made = {f"{pod}-{volume.get('name') or ''}" for volume in volumes if pod and volume.get("ephemeral") is not None}
    for index, volume in enumerate(volumes):
        at, name = f"{path}[{index}]", volume.get("name") or ""
        causes = list(_validate_volume(volume, name, at, pod, is_pod=metadata is not None))
        if name in valid:
            causes.append(duplicate(f"{at}.name", name))
        if not causes:
            valid[name] = volume
        yield from causes
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in made:
            message = "must not reference a PVC that gets created for an ephemeral volume"
            yield invalid(f"{at}.persistentVolumeClaim.claimName", claim, message)


def _validate_volume(volume: Document, name: str, path: str, pod: str, *, is_pod: bool) -> Iterator[Cause]:
    kinds = [kind for kind in SOURCES if volume.get(kind) is not None]
    for number, kind in enumerate(kinds):
        if number and kind != "emptyDir":
            yield forbidden(f"{path}.{_OTHER_FIELDS.get(kind, kind)}", _MORE_THAN_ONE)
        else:
            yield from validate_source(kind, volume[kind], path, is_pod=is_pod)
            if kind == "ephemeral" and pod and name:
                claim = f"{pod}-{name}"
                for problem in dns_1123_subdomain(claim):
                    yield invalid(f"{path}.name", name, f'PVC name "{claim}": {problem}')
        if kind == "iscsi":
            yield from validate_portal(volume[kind], name, f"{path}.name", name)
    if not kinds:
        yield required(path, "must specify a volume type")
    yield from texts.required_text(name, f"{path}.name", dns_1123_label)


def validate_portal(source: dict[str, Any], name: str, path: str, shown: str) -> Iterator[Cause]:
    """The name of a volume and the portal of its iSCSI source are short enough together."""
    portal = source.get("targetPortal") or ""
    if source.get("initiatorName") is not None and len(f"{name}:{portal}".encode(errors="replace")) > 64:
        message = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is "
            "specified."
        )
        yield invalid(path, shown, message)
