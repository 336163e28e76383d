"""What a type checker accepts and refuses of webhooks. mypy reads this file, and nothing runs it; see `kinds`."""

from __future__ import annotations

from typing import assert_type

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap, Pod

POD = pt.GroupVersionKind("", "v1", "Pod")


class PodWebhook:
    async def default(self, pod: Pod) -> None: ...
    async def validate_create(self, pod: Pod) -> list[str]:
        return []

    async def validate_update(self, old: Pod, pod: Pod) -> list[str]:
        return []

    def validate_delete(self, pod: Pod) -> None: ...


class PodWebhookWithRequest:
    async def default(self, pod: Pod, *, request: pt.AdmissionRequest) -> None: ...
    async def validate_create(self, pod: Pod, *, request: pt.AdmissionRequest) -> None: ...
    async def validate_update(self, old: Pod, pod: Pod, *, request: pt.AdmissionRequest) -> None: ...
    async def validate_delete(self, pod: Pod, *, request: pt.AdmissionRequest) -> None: ...


class PodWebhookThatAsksOnDelete(PodWebhook):
    """Only one of its methods is given the request."""

    async def validate_delete(self, pod: Pod, request: pt.AdmissionRequest) -> None: ...  # type: ignore[override]


class Anything:
    def default(self, document: pt.Unstructured) -> None: ...


async def handle(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
    assert_type(request.decode(Pod), Pod)
    assert_type(request.decode_old(POD), pt.Unstructured)
    return pt.allowed()


def webhooks(manager: pt.Manager) -> None:
    builder = pt.WebhookBuilder(manager).for_(Pod)
    assert_type(builder, pt.WebhookBuilder[Pod])
    builder.with_defaulter(PodWebhook()).with_validator(PodWebhook()).complete()
    builder.with_defaulter(PodWebhookWithRequest()).with_validator(PodWebhookWithRequest()).complete()
    builder.with_validator(PodWebhookThatAsksOnDelete()).complete()
    builder.with_mutating_handler(handle).with_validating_handler(
        pt.webhook.multi_validating_handler(handle)
    ).complete()
    pt.WebhookBuilder(manager).for_(POD).with_defaulter(Anything()).complete()

    wrong = pt.WebhookBuilder(manager).for_(ConfigMap)
    wrong.with_defaulter(PodWebhook())  # type: ignore[arg-type]
    wrong.with_validator(PodWebhook())  # type: ignore[arg-type]
    builder.with_validator(Anything())  # type: ignore[arg-type]
    builder.with_mutating_handler(PodWebhook())  # type: ignore[arg-type]
