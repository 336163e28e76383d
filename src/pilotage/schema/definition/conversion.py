"""Validates `spec.conversion`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from pilotage.errors import Cause
from pilotage.meta import causes
from pilotage.schema.definition.names import label_rule


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
    elif ("url" in client) == ("service" in client):
        yield causes.required(f"{at}.webhookClientConfig", "exactly one of url or service is required")
    elif "url" in client:
        yield from _url_causes(f"{at}.webhookClientConfig.url", client["url"])
    yield from _review_causes(reviews, f"{at}.conversionReviewVersions")


def _url_causes(at: str, url: str) -> Iterator[Cause]:
    wanted = "desired format: https://host[/path]"
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield causes.required(at, f"url must be a valid URL: {error}; {wanted}")
        return
    if parts.scheme != "https":
        yield causes.invalid(at, parts.scheme, f"'https' is the only allowed URL scheme; {wanted}")
    if not parts.netloc:
        yield causes.invalid(at, parts.netloc, f"host must be specified; {wanted}")
    for value, name in (
        (parts.username, "user information"),
        (parts.fragment, "fragments"),
        (parts.query, "query parameters"),
    ):
        if value:
            yield causes.invalid(at, value, f"{name} are not permitted in the URL")


def _review_causes(reviews: list[str], at: str) -> Iterator[Cause]:
    if not reviews:
        yield causes.required(at)
        return
    for index, version in enumerate(reviews):
        if version in reviews[:index]:
            yield causes.invalid(f"{at}[{index}]", version, "duplicate version")
        elif broken := label_rule(version):
            yield causes.invalid(f"{at}[{index}]", version, broken)
    if not {"v1", "v1beta1"} & set(reviews):
        yield causes.invalid(at, reviews, "must include at least one of v1, v1beta1", whole=True)
