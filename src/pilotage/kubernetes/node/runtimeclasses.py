"""RuntimeClasses."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.warnings import label_warning
from pilotage.meta.causes import duplicate
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label
from pilotage.meta.validation.objectmeta import labels_causes
from pilotage.server.strategies.checks import items, texts
from pilotage.server.strategies.strategy import Strategy


class RuntimeClassStrategy(Strategy):
    """Runtime classes name a handler of the nodes, which they keep."""

    def validate(self, document: Document) -> Iterator[Cause]:
        yield from texts.required_text(document.get("handler"), "handler", dns_1123_label)
        yield from _validate_overhead((document.get("overhead") or {}).get("podFixed") or {})
        yield from _validate_scheduling(document.get("scheduling") or {}, "scheduling")

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        labels = (document.get("scheduling") or {}).get("nodeSelector") or {}
        return [f"scheduling.nodeSelector: {text}" for key in labels if (text := label_warning(key))]


def _validate_overhead(fixed: Document) -> Iterator[Cause]:
    from pilotage.kubernetes.core.pods.containers.requirements import validate_container_resources

    yield from validate_container_resources({"limits": fixed}, "overhead")


def _validate_scheduling(scheduling: Document, path: str) -> Iterator[Cause]:
    from pilotage.kubernetes.core.pods.scheduling import validate_tolerations

    yield from labels_causes(scheduling.get("nodeSelector") or {}, f"{path}.nodeSelector")
    yield from validate_tolerations(scheduling, f"{path}.tolerations")
    tolerations = scheduling.get("tolerations") or ()
    keys = (tuple(each.get(name, "") for name in ("key", "operator", "value", "effect")) for each in tolerations)
    for index, _ in items.repeated(keys):
        yield duplicate(f"{path}.tolerations[{index}]", tolerations[index])
