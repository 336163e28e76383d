"""Ingresses and IngressClasses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pilotage.codec.defaults.networking import balancer_entries
from pilotage.errors import Cause
from pilotage.kubernetes.checks.addresses import address, validate_address
from pilotage.kubernetes.checks.ports import validate_port_name
from pilotage.meta.causes import forbidden, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label, dns_1123_subdomain, path_segment_name, wildcard_subdomain
from pilotage.server.strategies.checks import fields, items, numbers, texts
from pilotage.server.strategies.strategy import Strategy

_CLASS = "kubernetes.io/ingress.class"
_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_WRONG_PARTS = ("//", "/./", "/../", "%2f", "%2F")
_WRONG_ENDS = ("/..", "/.")
_NO_ADDRESS = "must be a DNS name, not an IP address"
_MAX_CONTROLLER = 250
_SCOPES = ("Cluster", "Namespace")


@dataclass(frozen=True, slots=True)
class _Known:
    """Values of the old object that would be invalid in a new one."""

    secrets: bool = False
    wildcard_rules: bool = False


class IngressStrategy(Strategy):
    """Ingresses route hosts and paths to services or other resources."""

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document.get("spec") or {}
        yield from _validate_spec(spec, _Known())
        text = (document["metadata"].get("annotations") or {}).get(_CLASS)
        if text is not None and spec.get("ingressClassName") not in (None, text):
            detail = "must match `ingressClassName` when both are specified"
            yield invalid(f"annotations.{_CLASS}", text, detail)

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        was = old.get("spec") or {}
        secrets = any(dns_1123_subdomain(part["secretName"]) for part in was.get("tls") or () if part.get("secretName"))
        rules = any(
            any(_validate_paths(rule.get("http"), ""))
            for rule in was.get("rules") or ()
            if "*" in (rule.get("host") or "")
        )
        return _validate_spec(document.get("spec") or {}, _Known(secrets, rules))

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        known = {entry["ip"] for entry in balancer_entries(old) if entry.get("ip")}
        entries = balancer_entries(document)
        return items.each(entries, "status.loadBalancer.ingress", validate_balancer_entry, known)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        annotated = _CLASS in (document["metadata"].get("annotations") or {})
        if old is not None or not annotated or (document.get("spec") or {}).get("ingressClassName") is not None:
            return []
        return [f"annotation \"{_CLASS}\" is deprecated, please use 'spec.ingressClassName' instead"]


def validate_balancer_entry(entry: Document, path: str, known: set[str]) -> Iterator[Cause]:
    """One point of a load balancer: an address, a host name, or both."""
    if text := entry.get("ip"):
        yield from validate_address(text, f"{path}.ip", known)
    if name := entry.get("hostname"):
        yield from texts.text(name, f"{path}.hostname")
        if address(name) is not None:
            yield invalid(f"{path}.hostname", name, _NO_ADDRESS)


def _validate_spec(spec: Document, known: _Known) -> Iterator[Cause]:
    rules, backend = spec.get("rules") or [], spec.get("defaultBackend")
    if not rules and backend is None:
        yield invalid("spec", spec.get("rules"), "either `defaultBackend` or `rules` must be specified", whole=True)
    yield from fields.given(backend, "spec.defaultBackend", _validate_backend)
    yield from items.each(rules, "spec.rules", _validate_rule, known)
    yield from items.each(spec.get("tls"), "spec.tls", _validate_tls, known)
    yield from fields.given(spec.get("ingressClassName"), "spec.ingressClassName", texts.text)


def _validate_host(host: str, path: str) -> Iterator[Cause]:
    rule = wildcard_subdomain if "*" in host else dns_1123_subdomain
    yield from texts.text(host, path, rule)


def _validate_tls(part: Document, path: str, known: _Known) -> Iterator[Cause]:
    yield from items.each(part.get("hosts"), f"{path}.hosts", _validate_host)
    if not known.secrets:
        yield from texts.optional_text(part.get("secretName"), f"{path}.secretName")


def _validate_rule(rule: Document, path: str, known: _Known) -> Iterator[Cause]:
    host = rule.get("host") or ""
    if host:
        if address(host) is not None:
            yield invalid(f"{path}.host", host, _NO_ADDRESS)
        yield from _validate_host(host, f"{path}.host")
    if "*" not in host or not known.wildcard_rules:
        yield from _validate_paths(rule.get("http"), f"{path}.http")


def _validate_paths(http: Document | None, path: str) -> Iterator[Cause]:
    if http is None:
        return
    yield from fields.needed(http, path, "paths")
    yield from items.each(http.get("paths"), f"{path}.paths", _validate_route)


def _validate_route(route: Document, path: str) -> Iterator[Cause]:
    kind, text = route.get("pathType"), route.get("path") or ""
    if kind is None:
        yield required(f"{path}.pathType", "pathType must be specified")
        return
    if kind not in _PATH_TYPES:
        yield not_supported(f"{path}.pathType", kind, _PATH_TYPES)
    elif not text.startswith("/") and (text or kind != "ImplementationSpecific"):
        yield invalid(f"{path}.path", text, "must be an absolute path")
    if kind in ("Exact", "Prefix"):
        for part in _WRONG_PARTS:
            if part in text:
                yield invalid(f"{path}.path", text, f"must not contain '{part}'")
        for end in _WRONG_ENDS:
            if text.endswith(end):
                yield invalid(f"{path}.path", text, f"cannot end with '{end}'")
    yield from _validate_backend(route.get("backend") or {}, f"{path}.backend")


def _validate_backend(backend: Document, path: str) -> Iterator[Cause]:
    resource, service = backend.get("resource"), backend.get("service")
    if resource is not None and service is not None:
        yield invalid(path, "", "cannot set both resource and service backends")
    elif resource is not None:
        yield from _validate_resource(resource, f"{path}.resource")
    elif service is not None:
        yield from _validate_service(service, path)
    else:
        yield invalid(path, "", "resource or service backend is required")


def _validate_resource(resource: Document, path: str) -> Iterator[Cause]:
    yield from fields.given(resource.get("apiGroup"), f"{path}.apiGroup", texts.text)
    for key in ("kind", "name"):
        value = resource.get(key) or ""
        if not value:
            yield required(f"{path}.{key}")
        yield from texts.text(value, f"{path}.{key}", path_segment_name)


def _validate_service(service: Document, path: str) -> Iterator[Cause]:
    yield from texts.required_text(service.get("name"), f"{path}.service.name", dns_1123_label)
    port = service.get("port") or {}
    name, number = port.get("name") or "", port.get("number") or 0
    if name and number:
        yield invalid(path, "", "cannot set both port name & port number")
    elif name:
        yield from validate_port_name(name, f"{path}.service.port.name")
    elif number:
        yield from numbers.port_number(number, f"{path}.service.port.number")
    else:
        yield required(path, "port name or number is required")


class IngressClassStrategy(Strategy):
    """Ingress classes name a controller, which they keep, and may refer to its parameters."""

    def validate(self, document: Document) -> Iterator[Cause]:
        controller = document["spec"].get("controller", "")
        yield from texts.length(controller, "spec.controller", _MAX_CONTROLLER)
        yield from texts.domain_path(controller, "spec.controller")
        yield from fields.given(document["spec"].get("parameters"), "spec.parameters", _validate_parameters)

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        return [*self.validate_changes(document, old), *self.validate(document)]


def _validate_parameters(parameters: Document, path: str) -> Iterator[Cause]:
    yield from fields.given(parameters.get("apiGroup"), f"{path}.apiGroup", texts.text)
    yield from texts.required_text(parameters.get("kind"), f"{path}.kind", path_segment_name)
    yield from texts.required_text(parameters.get("name"), f"{path}.name", path_segment_name)
    scope, namespace = parameters.get("scope"), parameters.get("namespace")
    if scope not in _SCOPES:
        yield not_supported(f"{path}.scope", scope or "", _SCOPES)
    elif scope == "Cluster":
        if namespace is not None:
            yield forbidden(f"{path}.namespace", "`parameters.scope` is set to 'Cluster'")
    elif namespace is None:
        yield required(f"{path}.namespace", "`parameters.scope` is set to 'Namespace'")
    else:
        yield from texts.text(namespace, f"{path}.namespace", dns_1123_label)
