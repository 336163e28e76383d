"""APIServices."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, shown
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1035_label
from pilotage.server.strategies.checks import fields, numbers, texts
from pilotage.server.strategies.strategy import Strategy

_STATUSES = ("True", "False", "Unknown")
_LOCAL: Document = {
    "type": "Available",
    "status": "True",
    "reason": "Local",
    "message": "Local APIServices are always available",
}


class APIServiceStrategy(Strategy):
    """The name of an APIService is its version and group; APIServices without a service are served by this server."""

    def prepare_for_create(self, document: Document) -> None:
        super().prepare_for_create(document)
        document["status"] = {}
        if document["spec"].get("service") is None:
            now = document["metadata"].get("creationTimestamp")
            document["status"] = {"conditions": [_LOCAL | {"lastTransitionTime": now}]}

    def validate(self, document: Document) -> list[Cause]:
        spec = document["spec"]
        return [*_validate_names(document["metadata"], spec), *_validate_spec(spec), *_validate_backend(spec)]

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        for index, condition in enumerate(document.get("status", {}).get("conditions") or ()):
            yield from fields.choice(condition.get("status", ""), f"status.conditions[{index}].status", _STATUSES)


def _validate_names(metadata: Document, spec: Document) -> Iterator[Cause]:
    wanted = f"{spec.get('version', '')}.{spec.get('group', '')}"
    message = f'must be `spec.version+"."+spec.group`: {shown(wanted)}'
    for key in ("generateName", "name"):
        name = metadata.get(key)
        if name and name != wanted and "/" not in name and "%" not in name and name not in (".", ".."):
            yield invalid(f"metadata.{key}", name, message)


def _validate_spec(spec: Document) -> Iterator[Cause]:
    group, version = spec.get("group", ""), spec.get("version", "")
    if group or version != "v1":
        detail = "only v1 may have an empty group and it better be legacy kube"
        yield from texts.required_text(group, "spec.group", detail=detail)
    yield from texts.text(version, "spec.version", dns_1035_label)
    for name, most in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        value = spec.get(name, 0)
        if not 0 < value <= most:
            yield invalid(f"spec.{name}", value, f"must be positive and less than {most}")


def _validate_backend(spec: Document) -> Iterator[Cause]:
    service, bundle, insecure = spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify", False)
    if service is None:
        if bundle:
            yield invalid(
                "spec.caBundle", f"{len(base64.b64decode(bundle))} bytes", "local APIServices may not have a caBundle"
            )
        if insecure:
            message = "local APIServices may not have insecureSkipTLSVerify"
            yield invalid("spec.insecureSkipTLSVerify", insecure, message)
        return
    yield from fields.needed(service, "spec.service", "namespace", "name")
    port = service.get("port", 0)
    if any(numbers.port_number(port, "")):
        yield invalid("spec.service.port", port, "port is not valid: must be between 1 and 65535, inclusive")
    if insecure and bundle:
        yield invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present")
