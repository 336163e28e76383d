"""The strategy of pods. Their rules are imported when the first pod is written, not when a server starts."""

from __future__ import annotations

from pilotage.errors import Cause
from pilotage.meta.documents import Document, same
from pilotage.server.strategies.strategy import Strategy, copy_field


class PodStrategy(Strategy):
    """Pods: most of the spec cannot change, and what a node reports goes to the status."""

    schema_rules = False

    def default(self, document: Document) -> None:
        from pilotage.server.strategies.pods.defaults import default_pod

        default_pod(document)

    def prepare_for_create(self, document: Document) -> None:
        from pilotage.server.strategies.pods.preparation import prepare_pod

        document["metadata"]["generation"] = 1
        prepare_pod(document)

    def prepare_for_update(self, document: Document, old: Document) -> None:
        copy_field(document, old, "status")
        _count_generation(document, old)

    def prepare_for_status_update(self, document: Document, old: Document) -> Document:
        from pilotage.server.strategies.pods.status import carry_status_over

        result = super().prepare_for_status_update(document, old)
        copy_field(result["metadata"], old["metadata"], "ownerReferences")
        carry_status_over(result.setdefault("status", {}), old.get("status") or {})
        return result

    def prepare_for_subresource_update(self, subresource: str, document: Document, old: Document) -> Document:
        from pilotage.server.strategies.pods.resize import keep_all_but_resources

        spec = old["spec"]
        if subresource == "resize":
            spec = keep_all_but_resources(document["spec"], spec)
        else:
            spec = dict(spec)
            copy_field(spec, document["spec"], "ephemeralContainers")
        result = old | {"spec": spec, "metadata": dict(old["metadata"])}
        _count_generation(result, old)
        return result

    def validate(self, document: Document) -> list[Cause]:
        from pilotage.server.strategies.pods.spec import validate_new_pod

        return list(validate_new_pod(document))

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        from pilotage.server.strategies.pods.update import validate_pod_update

        return list(validate_pod_update(document, old))

    def validate_status_update(self, document: Document, old: Document) -> list[Cause]:
        from pilotage.server.strategies.pods.status import validate_pod_status

        return list(validate_pod_status(document, old))

    def validate_subresource_update(self, subresource: str, document: Document, old: Document) -> list[Cause]:
        if subresource == "resize":
            from pilotage.server.strategies.pods.resize import validate_resize

            return list(validate_resize(document, old))
        from pilotage.server.strategies.pods.update import validate_ephemeral_containers_update

        return list(validate_ephemeral_containers_update(document, old))

    def canonicalize(self, document: Document) -> None:
        from pilotage.server.strategies.pods.preparation import apply_apparmor

        apply_apparmor(document)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        from pilotage.server.strategies.pods.warnings import pod_warnings

        return list(pod_warnings(document)) if old is None else []

    def status_warnings(self, document: Document) -> list[str]:
        from pilotage.server.strategies.pods.status import status_warnings

        return list(status_warnings(document.get("status") or {}))


def _count_generation(document: Document, old: Document) -> None:
    if not same(document.get("spec"), old.get("spec")):
        document["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
