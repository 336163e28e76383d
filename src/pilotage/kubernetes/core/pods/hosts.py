"""Host names in a pod: DNS, host aliases, its own name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.checks.addresses import validate_address
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks import items, texts

DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_MAX_NAMESERVERS = 3
_MAX_SEARCHES = 32
_MAX_SEARCH_CHARACTERS = 2048
_MAX_OVERRIDE = 64
_LABEL = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SEARCH = f"_?{_LABEL}"
_is_search = re.compile(rf"{_SEARCH}(\.{_SEARCH})*").fullmatch
_SEARCH_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must "
    "start and end with an alphanumeric character "
    rf"(e.g. 'example.com', regex used for validation is '{_SEARCH}(\.{_SEARCH})*')"
)


def validate_dns_config(spec: Document, path: str) -> Iterator[Cause]:
    """The servers and options that a pod sets itself."""
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            message = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            yield required(f"{path}.nameservers", message)
            return
    if config is None:
        return
    servers = config.get("nameservers") or []
    if len(servers) > _MAX_NAMESERVERS:
        message = f"must not have more than {_MAX_NAMESERVERS} nameservers"
        yield invalid(f"{path}.nameservers", servers, message, whole=True)
    yield from items.each(servers, f"{path}.nameservers", validate_address)
    yield from _validate_searches(config.get("searches") or [], f"{path}.searches")
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield required(f"{path}.options[{index}]", "must not be empty")


def validate_host_names(spec: Document, path: str) -> Iterator[Cause]:
    """The name that replaces the pod's own one."""
    override = spec.get("hostnameOverride")
    if override is None:
        return
    at = f"{path}.hostnameOverride"
    for name in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(name):
            yield forbidden(at, f"may not be specified when {name} is true")
    yield from texts.length(override, at, _MAX_OVERRIDE)
    yield from texts.text(override, at)


def validate_host_labels(spec: Document, path: str) -> Iterator[Cause]:
    """The parts of the pod's own name."""
    for name in ("hostname", "subdomain"):
        yield from texts.optional_text(spec.get(name), f"{path}.{name}", dns_1123_label)


def validate_host_aliases(spec: Document, path: str) -> Iterator[Cause]:
    """More lines of the pod's /etc/hosts."""
    for index, alias in enumerate(spec.get("hostAliases") or ()):
        yield from validate_address(alias.get("ip") or "", f"{path}[{index}].ip")
        yield from items.each(alias.get("hostnames"), f"{path}[{index}].hostnames", texts.text)


def _validate_searches(searches: list[str], path: str) -> Iterator[Cause]:
    if len(searches) > _MAX_SEARCHES:
        yield invalid(path, searches, f"must not have more than {_MAX_SEARCHES} search paths", whole=True)
    if len(" ".join(searches).encode(errors="replace")) > _MAX_SEARCH_CHARACTERS:
        message = f"must not have more than {_MAX_SEARCH_CHARACTERS} characters (including spaces) in the search list"
        yield invalid(path, searches, message, whole=True)
    for index, search in enumerate(searches):
        if search != ".":
            yield from texts.text(search.removesuffix("."), f"{path}[{index}]", _search)


def _search(value: str) -> list[str]:
    messages = ["must be no more than 253 characters"] if len(value.encode(errors="replace")) > 253 else []
    return messages if _is_search(value) else [*messages, _SEARCH_RULE]
