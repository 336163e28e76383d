"""The strategy of PodTemplates, which are a pod template and no more."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from pilotage.errors import Cause
from pilotage.meta.documents import Document
from pilotage.meta.validation.objectmeta import MAX_CAUSES
from pilotage.server.strategies.pods.defaults import default_pod_template
from pilotage.server.strategies.pods.spec import validate_pod_template
from pilotage.server.strategies.pods.warnings import template_warnings
from pilotage.server.strategies.strategy import Strategy


class PodTemplateStrategy(Strategy):
    """PodTemplates have neither spec nor status."""

    def default(self, document: Document) -> None:
        default_pod_template(document.setdefault("template", {}))

    def validate(self, document: Document) -> Iterator[Cause]:
        return validate_pod_template(document["template"], "template")

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        if old is not None and document["metadata"].get("generation") == old["metadata"].get("generation"):
            return []
        return list(islice(template_warnings(document["template"], "template"), MAX_CAUSES))
