"""MutatingWebhookConfigurations and ValidatingWebhookConfigurations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pilotage.errors import Cause
from pilotage.kubernetes.admissionregistration import matching
from pilotage.kubernetes.admissionregistration.conditions import validate_match_conditions
from pilotage.meta.causes import duplicate, invalid, not_supported, required
from pilotage.meta.documents import Document, same
from pilotage.meta.validation.clientconfig import client_config_causes
from pilotage.meta.validation.names import dns_1035_label, dns_1123_subdomain
from pilotage.server.strategies.checks import fields, items, labelselectors
from pilotage.server.strategies.strategy import Strategy

_VERSIONS = ("v1", "v1beta1")
_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
_NO_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_MAX_TIMEOUT = 30


@dataclass(frozen=True, slots=True)
class _Tolerated:
    """Problems that an update may keep, because the old object had them."""

    conditions: bool = False
    side_effects: bool = False
    versions: bool = False
    names: bool = False
    selectors: bool = False


class ValidatingWebhookConfigurationStrategy(Strategy):
    """Webhooks that can refuse requests."""

    mutating: ClassVar[bool] = False

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return matching.name_warnings(document)

    def validate(self, document: Document) -> Iterator[Cause]:
        return _validate(document.get("webhooks") or [], _Tolerated())

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        webhooks, before = document.get("webhooks") or [], old.get("webhooks") or []
        return _validate(webhooks, _tolerated(webhooks, before))


class MutatingWebhookConfigurationStrategy(ValidatingWebhookConfigurationStrategy):
    """Webhooks that can change what requests write."""

    mutating = True


def _tolerated(webhooks: list[Document], old: list[Document]) -> _Tolerated:
    names = [webhook.get("name") or "" for webhook in old]
    return _Tolerated(
        conditions=same(
            [webhook.get("matchConditions") or [] for webhook in webhooks],
            [webhook.get("matchConditions") or [] for webhook in old],
        ),
        side_effects=any(webhook.get("sideEffects") not in _NO_SIDE_EFFECTS for webhook in old),
        versions=any(
            webhook.get("admissionReviewVersions") and not _has_version(webhook["admissionReviewVersions"])
            for webhook in old
        ),
        names=len(set(names)) < len(names),
        selectors=any(any(_validate_selectors(webhook, "", any_value=False)) for webhook in old),
    )


def _validate(webhooks: list[Document], tolerated: _Tolerated) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, webhook in enumerate(webhooks):
        path, name = f"webhooks[{index}]", webhook.get("name") or ""
        yield from _validate_webhook(webhook, path, tolerated)
        versions = webhook.get("admissionReviewVersions") or []
        yield from _validate_versions(versions, f"{path}.admissionReviewVersions", known=tolerated.versions)
        if name and name in seen and not tolerated.names:
            yield duplicate(f"{path}.name", name)
        seen.add(name)


def _validate_webhook(webhook: Document, path: str, tolerated: _Tolerated) -> Iterator[Cause]:
    yield from _validate_name(webhook.get("name") or "", f"{path}.name")
    yield from items.each(webhook.get("rules"), f"{path}.rules", matching.validate_rule)
    yield from fields.optional_choice(webhook.get("failurePolicy"), f"{path}.failurePolicy", matching.FAILURE_POLICIES)
    yield from fields.optional_choice(webhook.get("matchPolicy"), f"{path}.matchPolicy", matching.MATCH_POLICIES)
    yield from _validate_side_effects(webhook, path, _SIDE_EFFECTS if tolerated.side_effects else _NO_SIDE_EFFECTS)
    timeout = webhook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= _MAX_TIMEOUT:
        words = f"the timeout value must be between 1 and {_MAX_TIMEOUT} seconds"
        yield invalid(f"{path}.timeoutSeconds", timeout, words)
    yield from _validate_selectors(webhook, f"{path}.", any_value=tolerated.selectors)
    yield from fields.optional_choice(
        webhook.get("reinvocationPolicy"), f"{path}.reinvocationPolicy", matching.REINVOCATION_POLICIES
    )
    yield from client_config_causes(_client_config(webhook), f"{path}.clientConfig")
    if not tolerated.conditions:
        yield from validate_match_conditions(webhook.get("matchConditions") or [], f"{path}.matchConditions")


def _client_config(webhook: Document) -> Document:
    """The address of a webhook. kube-apiserver reports a missing name as a missing namespace, and the reverse."""
    config: Document = webhook.get("clientConfig") or {}
    service = config.get("service")
    if service is None:
        return config
    return config | {"service": service | {"name": service.get("namespace"), "namespace": service.get("name")}}


def _validate_name(name: str, path: str) -> Iterator[Cause]:
    """A domain of at least three parts, so that names of different owners differ."""
    if not name:
        yield required(path)
    elif problems := dns_1123_subdomain(name):
        yield invalid(path, name, ",".join(problems))
    elif name.count(".") < 2:
        yield invalid(path, name, "should be a domain with at least three segments separated by dots")


def _validate_side_effects(webhook: Document, path: str, allowed: tuple[str, ...]) -> Iterator[Cause]:
    effects = webhook.get("sideEffects")
    if effects is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(allowed)}")
    elif effects not in allowed:
        yield not_supported(f"{path}.sideEffects", effects, allowed)


def _validate_selectors(webhook: Document, prefix: str, *, any_value: bool) -> Iterator[Cause]:
    for name in ("namespaceSelector", "objectSelector"):
        yield from labelselectors.label_selector(webhook.get(name), f"{prefix}{name}", any_value=any_value)


def _validate_versions(versions: list[str], path: str, *, known: bool) -> Iterator[Cause]:
    if not versions:
        yield required(path, f"must specify one of {', '.join(_VERSIONS)}")
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        seen.add(version)
        yield from (invalid(f"{path}[{index}]", version, problem) for problem in dns_1035_label(version))
    if not known and not _has_version(versions):
        yield invalid(path, versions, f"must include at least one of {', '.join(_VERSIONS)}", whole=True)


def _has_version(versions: list[str]) -> bool:
    return any(version in _VERSIONS for version in versions)
