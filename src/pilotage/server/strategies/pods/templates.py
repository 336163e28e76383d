"""The strategy of PodTemplates, which are a pod template and no more."""

from __future__ import annotations

from pilotage.errors import Cause
from pilotage.meta.documents import Document
from pilotage.server.strategies.strategy import Strategy


class PodTemplateStrategy(Strategy):
    """PodTemplates have neither spec nor status."""

    schema_rules = False

    def default(self, document: Document) -> None:
        from pilotage.server.strategies.pods.defaults import default_pod_template

        default_pod_template(document.setdefault("template", {}))

    def validate(self, document: Document) -> list[Cause]:
        from pilotage.server.strategies.pods.spec import validate_pod_template

        return list(validate_pod_template(document["template"], "template"))

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        from pilotage.server.strategies.pods.warnings import template_warnings

        return list(template_warnings(document["template"], "template"))
