"""Validates `spec.conversion`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.meta.validation.clientconfig import ca_bundle_problem, client_config_causes
from pilotage.schema.definition.names import label_rule

_SERVICE = "spec.conversion.webhookClientConfig.service"
_SWAPPED = {f"{_SERVICE}.name": f"{_SERVICE}.namespace", f"{_SERVICE}.namespace": f"{_SERVICE}.name"}
"""kube-apiserver mixes these up: programs see a missing name as a missing namespace."""


def conversion_causes(conversion: Mapping[str, Any]) -> Iterator[Cause]:
    at, strategy = "spec.conversion", conversion.get("strategy") or ""
    webhook = conversion.get("webhook") or {}
    if not strategy:
        yield causes.required(f"{at}.strategy")
    elif strategy not in ("None", "Webhook"):
        yield causes.not_supported(f"{at}.strategy", strategy, ("None", "Webhook"))
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "Webhook":
        for name, value in (("webhookClientConfig", client), ("conversionReviewVersions", reviews)):
            if value:
                yield causes.forbidden(f"{at}.{name}", "should not be set when strategy is not set to Webhook")
        return
    if client is None:
        yield causes.required(f"{at}.webhookClientConfig", "required when strategy is set to Webhook")
    else:
        for cause in client_config_causes(client, f"{at}.webhookClientConfig"):
            yield cause.replace(field=_SWAPPED.get(cause.field, cause.field))
    yield from _review_causes(reviews, f"{at}.conversionReviewVersions")


def ca_bundle_causes(spec: Mapping[str, Any]) -> Iterator[Cause]:
    """What is wrong with the certificates of the webhook's authorities.

    An API server accepts a new definition with wrong ones, and does not establish it.
    """
    client = ((spec.get("conversion") or {}).get("webhook") or {}).get("clientConfig") or {}
    bundle = client.get("caBundle") or ""
    if problem := ca_bundle_problem(bundle):
        yield causes.invalid("spec.conversion.webhookClientConfig.caBundle", bundle, problem)


def _review_causes(reviews: list[str], at: str) -> Iterator[Cause]:
    if not reviews:
        yield causes.required(at)
        return
    seen: set[str] = set()
    for index, version in enumerate(reviews):
        if version in seen:
            yield causes.invalid(f"{at}[{index}]", version, "duplicate version")
        elif broken := label_rule(version):
            yield causes.invalid(f"{at}[{index}]", version, broken)
        seen.add(version)
    if not {"v1", "v1beta1"} & set(reviews):
        yield causes.invalid(at, reviews, "must include at least one of v1, v1beta1", whole=True)
