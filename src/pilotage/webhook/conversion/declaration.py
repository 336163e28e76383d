"""What is written into a CRD so that an API server converts its versions by this program's webhook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.webhook.addresses import with_bundle
from pilotage.webhook.conversion.webhook import PATH
from pilotage.webhook.ownership import FieldPath

DEFINITION = GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")


@dataclass(frozen=True, slots=True)
class ConversionDeclaration:
    """The conversion of one kind, a part of its CRD."""

    kind: ClassVar[GroupVersionKind] = DEFINITION
    path: ClassVar[str] = PATH
    client_config: ClassVar[FieldPath] = ("spec", "conversion", "webhook", "clientConfig")

    name: str
    """The name of the CRD."""

    def document(self, client_config: Document) -> Document:
        """What is applied to a CRD that exists."""
        return self._definition(self.conversion(client_config))

    def injection(self, bundle: bytes) -> Document:
        """The bundle alone, for a CRD that another program has installed."""
        return self._definition({"strategy": "Webhook", "webhook": {"clientConfig": with_bundle({}, bundle)}})

    def conversion(self, client_config: Document) -> Document:
        """The `spec.conversion` of the CRD."""
        webhook = {"clientConfig": client_config, "conversionReviewVersions": ["v1"]}
        return {"strategy": "Webhook", "webhook": webhook}

    def _definition(self, conversion: Document) -> Document:
        return {
            "apiVersion": DEFINITION.api_version,
            "kind": DEFINITION.kind,
            "metadata": {"name": self.name},
            "spec": {"conversion": conversion},
        }
