"""Webhooks of admission, read from their configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pilotage.meta.documents import Document
from pilotage.server.matching.criteria import Criteria
from pilotage.server.webhooks.endpoints import REVIEW_VERSIONS, WebhookTarget

_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")


@dataclass(frozen=True, slots=True)
class Hook:
    """One webhook of a configuration."""

    name: str
    configuration: str
    identity: str
    """Unique among all webhooks, also of configurations that repeat a name."""
    criteria: Criteria = field(repr=False)
    endpoint: WebhookTarget
    conditions: Sequence[Document] = ()
    timeout: float = 10.0
    ignores_failures: bool = False
    reinvoked: bool = False
    """A mutating webhook that is called again if another one has changed the object after it."""
    side_effects: str | None = None
    review_version: str = ""
    """The first version of AdmissionReview that both sides know; empty: none."""

    @property
    def supports_dry_run(self) -> bool:
        return self.side_effects in _NO_SIDE_EFFECTS


def hooks_of(configuration: Document) -> tuple[Hook, ...]:
    """The webhooks of a configuration, in their order."""
    name = configuration["metadata"]["name"]
    counts: dict[str, int] = {}
    found: list[Hook] = []
    for webhook in configuration.get("webhooks") or ():
        number = counts[webhook["name"]] = counts.get(webhook["name"], -1) + 1
        found.append(_hook(webhook, name, f"{name}/{webhook['name']}/{number}"))
    return tuple(found)


def _hook(webhook: Document, configuration: str, identity: str) -> Hook:
    versions = webhook.get("admissionReviewVersions") or ()
    return Hook(
        name=webhook["name"],
        configuration=configuration,
        identity=identity,
        criteria=Criteria.of_webhook(webhook),
        endpoint=WebhookTarget.of(webhook.get("clientConfig") or {}),
        conditions=tuple(webhook.get("matchConditions") or ()),
        timeout=float(webhook.get("timeoutSeconds") or 10),
        ignores_failures=webhook.get("failurePolicy") == "Ignore",
        reinvoked=webhook.get("reinvocationPolicy") == "IfNeeded",
        side_effects=webhook.get("sideEffects"),
        review_version=next((version for version in versions if version in REVIEW_VERSIONS), ""),
    )
