"""To whom a registration belongs: where it leads, and which field managers have set that.

A run writes and deletes only what is its own. What `kubectl apply`, Helm or another program has applied is used if it
leads to this run, and is never changed in other cases.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pilotage.meta.documents import Document
from pilotage.meta.kinds import DEFINITION_OWNER

FIELD_OWNER = "pilotage-webhook"
_OURS = {FIELD_OWNER, DEFINITION_OWNER}

FieldPath = Sequence[str | Document]
"""Names of fields, and the keys of items of lists: `("webhooks", {"name": "a"}, "clientConfig")`."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where a registration leads."""

    address: Document
    """The `clientConfig` without the bundle; empty if there is none."""
    owners: tuple[str, ...]
    """The field managers other than Pilotage's that have set it."""

    @property
    def text(self) -> str:
        """The address for messages."""
        service = self.address.get("service")
        return f"the Service {service['namespace']}/{service['name']}" if service else str(self.address.get("url", ""))


def target_of(found: Document, path: FieldPath) -> Target:
    """The target of the object that the API server has. `path` is the path of the `clientConfig`."""
    config = _at(found, path) or {}
    address = {key: value for key, value in config.items() if key in ("url", "service")}
    return Target(address, tuple(sorted({*_managers(found, path)} - _OURS)))


def refusal(target: Target, wanted: Document, *, registers: bool) -> bool:
    """Whether a run that is reached at the address `wanted` must leave the registration alone. A run that does not
    register would inject its bundle, and one that does would replace the address."""
    leads_elsewhere = bool(target.address) and not _same(target.address, wanted)
    if not leads_elsewhere:
        return False
    if "service" in wanted and not registers:
        return "url" in target.address  # another name of the Service is an option of the manifests
    if "service" in target.address and "service" not in wanted:
        return True  # a deployed program serves it, also where a run of ours has registered it
    return registers and bool(target.owners)


def _same(first: Document, second: Document) -> bool:
    """Whether two addresses are the same, with the default of the port."""
    return _completed(first) == _completed(second)


def _completed(address: Document) -> Document:
    return {**address, "service": {"port": 443, **address["service"]}} if "service" in address else address


def _at(document: Any, path: FieldPath) -> Any:
    """What stands at the path; None if nothing does."""
    for step in path:
        if isinstance(step, str):
            document = document.get(step) if isinstance(document, dict) else None
        else:
            items = (item for item in document or () if step.items() <= item.items())
            document = next(items, None)
    return document


def _managers(found: Document, path: FieldPath) -> Iterator[str]:
    """The field managers that have set the URL or the Service."""
    for entry in found.get("metadata", {}).get("managedFields") or ():
        fields = entry.get("fieldsV1")
        for step in path:
            key = f"f:{step}" if isinstance(step, str) else f"k:{json.dumps(step, separators=(',', ':'))}"
            fields = (fields or {}).get(key)
        if fields and ("f:url" in fields or "f:service" in fields):
            yield str(entry.get("manager", ""))
