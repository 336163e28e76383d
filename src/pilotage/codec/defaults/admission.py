"""The defaults of webhook configurations, admission policies and their bindings."""

from __future__ import annotations

from pilotage.meta.documents import Document

_RULES = ("resourceRules", "excludeResourceRules")
_HTTPS_PORT = 443


def default_mutating_webhooks(document: Document) -> None:
    for webhook in document.get("webhooks") or ():
        _default_webhook(webhook)
        webhook.setdefault("reinvocationPolicy", "Never")


def default_validating_webhooks(document: Document) -> None:
    for webhook in document.get("webhooks") or ():
        _default_webhook(webhook)


def default_policy(document: Document) -> None:
    spec = document.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    _default_match_resources(spec.get("matchConstraints"))


def default_binding(document: Document) -> None:
    _default_match_resources((document.get("spec") or {}).get("matchResources"))


def default_api_service(document: Document) -> None:
    _default_port(document["spec"].get("service"))


def _default_webhook(webhook: Document) -> None:
    webhook.setdefault("failurePolicy", "Fail")
    _default_selectors(webhook)
    webhook.setdefault("timeoutSeconds", 10)
    _default_rules(webhook.get("rules"))
    _default_port((webhook.get("clientConfig") or {}).get("service"))


def _default_port(service: Document | None) -> None:
    if service is not None:
        service.setdefault("port", _HTTPS_PORT)


def _default_match_resources(resources: Document | None) -> None:
    if resources is None:
        return
    _default_selectors(resources)
    for name in _RULES:
        _default_rules(resources.get(name))


def _default_rules(rules: list[Document] | None) -> None:
    for rule in rules or ():
        rule.setdefault("scope", "*")


def _default_selectors(value: Document) -> None:
    """They match equivalent requests, of all namespaces and objects."""
    value.setdefault("matchPolicy", "Equivalent")
    value.setdefault("namespaceSelector", {})
    value.setdefault("objectSelector", {})
