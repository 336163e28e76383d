"""NetworkPolicies."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from pilotage.errors import Cause
from pilotage.kubernetes.checks.addresses import network, network_warnings, validate_network
from pilotage.kubernetes.checks.ports import validate_port_number_or_name
from pilotage.meta.causes import forbidden, invalid, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, items, labelselectors, numbers
from pilotage.server.strategies.strategy import Strategy

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_TYPES = ("Ingress", "Egress")
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))


@dataclass(frozen=True, slots=True)
class _Known:
    """Values of the old object, which are not checked again."""

    networks: Container[str] = ()
    selectors: bool = False


class NetworkPolicyStrategy(Strategy):
    """Network policies apply to ingress, and to egress if they have rules for it, unless they name their types."""

    def validate(self, document: Document) -> Iterator[Cause]:
        return _validate_spec(document["spec"], _Known())

    def validate_update(self, document: Document, old: Document) -> Iterator[Cause]:
        selectors = any(labelselectors.label_selector(old["spec"].get("podSelector"), ""))
        networks = {text for _, text in _networks(old["spec"])}
        return _validate_spec(document["spec"], _Known(networks, selectors))

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        return [warning for path, text in _networks(document["spec"]) for warning in network_warnings(text, path)]


def _networks(spec: Document) -> Iterator[tuple[str, str]]:
    """All networks of a policy, with their paths."""
    for direction, peers in _DIRECTIONS:
        for index, rule in enumerate(spec.get(direction) or ()):
            for position, peer in enumerate(rule.get(peers) or ()):
                block = peer.get("ipBlock")
                if block is not None:
                    path = f"spec.{direction}[{index}].{peers}[{position}].ipBlock"
                    yield f"{path}.cidr", block.get("cidr") or ""
                    for at, text in enumerate(block.get("except") or ()):
                        yield f"{path}.except[{at}]", text


def _validate_spec(spec: Document, known: _Known) -> Iterator[Cause]:
    yield from labelselectors.label_selector(spec.get("podSelector"), "spec.podSelector", any_value=known.selectors)
    for direction, peers in _DIRECTIONS:
        for index, rule in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            yield from items.each(rule.get("ports"), f"{path}.ports", _validate_port)
            yield from items.each(rule.get(peers), f"{path}.{peers}", _validate_peer, known)
    types = spec.get("policyTypes") or []
    if len(types) > len(_TYPES):
        yield invalid("spec.policyTypes", types, "may not specify more than two policyTypes", whole=True)
        return
    yield from items.each(types, "spec.policyTypes", fields.choice, _TYPES)


def _validate_port(rule: Document, path: str) -> Iterator[Cause]:
    protocol, port, end = rule.get("protocol"), rule.get("port"), rule.get("endPort")
    yield from fields.optional_choice(protocol, f"{path}.protocol", _PROTOCOLS)
    if end is not None and port is None:
        yield invalid(f"{path}.endPort", end, "may not be specified when `port` is not specified")
    elif end is not None and isinstance(port, str):
        yield invalid(f"{path}.endPort", end, "may not be specified when `port` is non-numeric")
    if port is None:
        return
    yield from validate_port_number_or_name(port, f"{path}.port")
    if end is not None and not isinstance(port, str):
        if end < port:
            yield invalid(f"{path}.endPort", port, "must be greater than or equal to `port`")
        yield from numbers.port_number(end, f"{path}.endPort")


def _validate_peer(peer: Document, path: str, known: _Known) -> Iterator[Cause]:
    given = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    for name in given:
        if name == "ipBlock":
            yield from _validate_block(peer[name], f"{path}.{name}", known)
        else:
            yield from labelselectors.label_selector(peer[name], f"{path}.{name}", any_value=known.selectors)
    if not given:
        yield required(path, "must specify a peer")
    elif len(given) > 1 and "ipBlock" in given:
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _validate_block(block: Document, path: str, known: _Known) -> Iterator[Cause]:
    text = block.get("cidr") or ""
    if not text:
        yield required(f"{path}.cidr")
        return
    yield from validate_network(text, f"{path}.cidr", known.networks)
    whole = network(text)
    if whole is None:
        return
    for index, text in enumerate(block.get("except") or ()):
        yield from validate_network(text, f"{path}.except[{index}]", known.networks)
        part = network(text)
        if part is None:
            continue
        inside = part.version == whole.version and part.network_address in whole
        if not inside or whole.prefixlen >= part.prefixlen:
            yield invalid(f"{path}.except[{index}]", text, "must be a strict subset of `cidr`")
