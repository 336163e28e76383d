"""Configurations of webhooks, which are asked about writes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from pilotage.errors import Cause
from pilotage.meta.causes import duplicate, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.names import dns_1035_label, dns_1123_subdomain
from pilotage.server.strategies.admissionregistration.expressions import Scope, validate_match_conditions
from pilotage.server.strategies.admissionregistration.rules import (
    default_selection,
    validate_match_policy,
    validate_rule,
    validate_selectors,
)
from pilotage.server.strategies.checks.texts import validate_text
from pilotage.server.strategies.strategy import Strategy

FAILURE_POLICIES = ("Fail", "Ignore")
_REINVOCATIONS = ("IfNeeded", "Never")
_SIDE_EFFECTS = ("None", "NoneOnDryRun")
_VERSIONS = ("v1", "v1beta1")
_LONGEST_TIMEOUT = 30
_FORMAT = "; desired format: https://host[/path]"


class WebhookConfigurationStrategy(Strategy):
    """Webhooks that validate."""

    schema_rules = False
    qualified_finalizers = False

    def default(self, document: Document) -> None:
        for hook in document.get("webhooks") or ():
            default_selection(hook)
            hook.setdefault("failurePolicy", "Fail")
            hook.setdefault("timeoutSeconds", 10)
            service = (hook.get("clientConfig") or {}).get("service")
            if service is not None:
                service.setdefault("port", 443)

    def validate(self, document: Document) -> list[Cause]:
        return list(_validate_webhooks(document.get("webhooks") or ()))

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        hooks, before = document.get("webhooks") or (), old.get("webhooks") or ()
        conditions = [[hook.get("matchConditions") for hook in each] for each in (hooks, before)]
        return list(_validate_webhooks(hooks, conditions_changed=conditions[0] != conditions[1]))


class MutatingWebhookConfigurationStrategy(WebhookConfigurationStrategy):
    """Webhooks that change objects, and can be asked again after others have."""

    def default(self, document: Document) -> None:
        super().default(document)
        for hook in document.get("webhooks") or ():
            hook.setdefault("reinvocationPolicy", "Never")


def _validate_webhooks(hooks: Sequence[Document], *, conditions_changed: bool = True) -> Iterator[Cause]:
    names: set[str] = set()
    for index, hook in enumerate(hooks):
        path, name = f"webhooks[{index}]", hook.get("name") or ""
        yield from _validate_webhook(hook, name, path)
        if conditions_changed:
            conditions = hook.get("matchConditions") or ()
            yield from validate_match_conditions(conditions, f"{path}.matchConditions", Scope())
        yield from _validate_versions(hook.get("admissionReviewVersions") or [], f"{path}.admissionReviewVersions")
        if name and name in names:
            yield duplicate(f"{path}.name", name)
        names.add(name)


def _validate_webhook(hook: Document, name: str, path: str) -> Iterator[Cause]:
    yield from _validate_name(name, f"{path}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        yield from validate_rule(rule, f"{path}.rules[{index}]")
    yield from _validate_choice(hook, path, "failurePolicy", FAILURE_POLICIES)
    yield from validate_match_policy(hook, path)
    if hook.get("sideEffects") is None:
        yield required(f"{path}.sideEffects", f"must specify one of {', '.join(_SIDE_EFFECTS)}")
    yield from _validate_choice(hook, path, "sideEffects", _SIDE_EFFECTS)
    timeout = hook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= _LONGEST_TIMEOUT:
        yield invalid(f"{path}.timeoutSeconds", timeout, "the timeout value must be between 1 and 30 seconds")
    yield from validate_selectors(hook, path)
    yield from _validate_choice(hook, path, "reinvocationPolicy", _REINVOCATIONS)
    yield from _validate_client(hook.get("clientConfig") or {}, f"{path}.clientConfig")


def _validate_name(name: str, path: str) -> Iterator[Cause]:
    if not name:
        yield required(path)
    elif problems := dns_1123_subdomain(name):
        yield invalid(path, name, ",".join(problems))
    elif name.count(".") < 2:
        yield invalid(path, name, "should be a domain with at least three segments separated by dots")


def _validate_choice(hook: Document, path: str, name: str, allowed: tuple[str, ...]) -> Iterator[Cause]:
    value = hook.get(name)
    if value is not None and value not in allowed:
        yield not_supported(f"{path}.{name}", value, allowed)


def _validate_versions(versions: list[str], path: str) -> Iterator[Cause]:
    if not versions:
        yield required(path, f"must specify one of {', '.join(_VERSIONS)}")
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
        else:
            yield from validate_text(version, f"{path}[{index}]", dns_1035_label)
        seen.add(version)
    if not seen & set(_VERSIONS):
        yield invalid(path, versions, f"must include at least one of {', '.join(_VERSIONS)}", whole=True)


def _validate_client(config: Document, path: str) -> Iterator[Cause]:
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(path, "exactly one of url or service is required")
    elif url is not None:
        yield from _validate_url(url, f"{path}.url")
    elif service is not None:
        yield from _validate_service(service, f"{path}.service")


def _validate_url(text: str, path: str) -> Iterator[Cause]:
    try:
        parts = urlsplit(text)
        _ = parts.port  # raises for one that is not a number
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORMAT}")
        return
    user, at, host = parts.netloc.rpartition("@")
    if parts.scheme != "https":
        yield invalid(path, parts.scheme, f"'https' is the only allowed URL scheme{_FORMAT}")
    if not host:
        yield invalid(path, "", f"host must be specified{_FORMAT}")
    if at:
        yield invalid(path, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield invalid(path, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield invalid(path, parts.query, "query parameters are not permitted in the URL")


def _validate_service(service: Document, path: str) -> Iterator[Cause]:
    # Kubernetes names the two fields the wrong way round.
    for name, other in (("name", "namespace"), ("namespace", "name")):
        if not service.get(other):
            yield required(f"{path}.{name}")
    port, url_path = service.get("port") or 0, service.get("path") or ""
    if not 1 <= port <= 65535:
        yield invalid(f"{path}.port", port, "port is not valid: must be between 1 and 65535, inclusive")
    if url_path in ("", "/"):
        return
    if url_path == "//":
        yield invalid(f"{path}.path", url_path, "segment[0] may not be empty")
        return
    if not url_path.startswith("/"):
        yield invalid(f"{path}.path", url_path, "must start with a '/'")
    for index, segment in enumerate(url_path[1:].removesuffix("/").split("/")):
        if not segment:
            yield invalid(f"{path}.path", url_path, f"segment[{index}] may not be empty")
        for problem in dns_1123_subdomain(segment) if segment else ():
            yield invalid(f"{path}.path", url_path, f"segment[{index}]: {problem}")
