"""ServiceAccounts."""

from __future__ import annotations

from pilotage.meta.documents import Document
from pilotage.server.strategies.strategy import Strategy

_ENFORCED = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccountStrategy(Strategy):
    """Only the names of the secrets that a service account refers to are stored."""

    def prepare_for_create(self, document: Document) -> None:
        super().prepare_for_create(document)
        _keep_names(document)

    def prepare_for_update(self, document: Document, old: Document) -> None:
        super().prepare_for_update(document, old)
        _keep_names(document)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        is_new = old is None or _ENFORCED not in (old["metadata"].get("annotations") or {})
        if is_new and _ENFORCED in (document["metadata"].get("annotations") or {}):
            text = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
            return [f"metadata.annotations[{_ENFORCED}]: {text}"]
        return []


def _keep_names(document: Document) -> None:
    if secrets := document.get("secrets"):
        document["secrets"] = [{key: each[key] for key in ("name",) if key in each} for each in secrets]
