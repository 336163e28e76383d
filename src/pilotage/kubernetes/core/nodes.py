"""Nodes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pilotage.errors import Cause
from pilotage.kubernetes.checks import resourcenames
from pilotage.kubernetes.checks.addresses import network, network_warnings, validate_network
from pilotage.kubernetes.core.pods.scheduling import TAINT_EFFECTS
from pilotage.meta.causes import duplicate, forbidden, invalid
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import label_value, qualified_name
from pilotage.server.strategies.checks import fields, items, texts
from pilotage.server.strategies.strategy import Strategy

_is_feature = re.compile(r"[A-Z][a-zA-Z0-9]*(/[a-zA-Z0-9]+)*").fullmatch
_LONG_FEATURE = "must be no more than 253 characters"
_FEATURE = (
    "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
    "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
)
_ONCE = 'node updates may not change {} except from "" to valid'


class NodeStrategy(Strategy):
    """The pod networks and the provider id of a Node cannot change once they are set."""

    def prepare_for_create(self, document: Document) -> None:
        """A kubelet sends its status when it registers."""
        self.drop_gated(document, {})

    def validate(self, document: Document) -> Iterator[Cause]:
        spec = document["spec"]
        yield from _validate_taints(spec.get("taints") or (), "metadata.taints")
        status = document.get("status", {})
        yield from _validate_resources(status)
        yield from _validate_features(status.get("declaredFeatures") or (), "status.declaredFeatures")
        swap = status.get("nodeInfo", {}).get("swap", {}).get("capacity")
        if swap is not None and swap <= 0:
            yield invalid("metadata.nodeSwapStatus.capacity", swap, "must be greater than zero")
        yield from _validate_networks(spec.get("podCIDRs") or (), "spec.podCIDRs")

    def validate_changes(self, document: Document, old: Document) -> Iterator[Cause]:
        return _validate_change(document, old)

    def validate_status_update(self, document: Document, old: Document) -> Iterator[Cause]:
        return _validate_change(document, old)

    def warnings(self, document: Document, old: Document | None) -> list[str]:
        spec, found = document["spec"], []
        if "externalID" in spec:
            found.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        return [*found, *items.each(spec.get("podCIDRs"), "spec.podCIDRs", network_warnings)]


def _validate_taints(taints: Sequence[Document], path: str) -> Iterator[Cause]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        at, effect = f"{path}[{index}]", taint.get("effect", "")
        key, value = taint.get("key", ""), taint.get("value", "")
        yield from texts.text(key, f"{at}.key", qualified_name)
        if problems := label_value(value):
            yield invalid(f"{at}.value", value, ";".join(problems))
        yield from fields.required_choice(effect, f"{at}.effect", TAINT_EFFECTS)
        if (key, effect) in seen:
            cause = duplicate(at, taint)
            yield Cause(cause.reason, f"{cause.message}: taints must be unique by key and effect pair", cause.field)
        seen.add((key, effect))


def _validate_resources(status: Document) -> Iterator[Cause]:
    for part in ("capacity", "allocatable"):
        for name, amount in (status.get(part) or {}).items():
            yield from resourcenames.resource_amount(name, amount, f"status.{part}.{name}")


def _validate_features(features: Sequence[str], path: str) -> Iterator[Cause]:
    """The features that a kubelet declares, in the order of their names."""
    for index, feature in enumerate(features):
        if len(feature) > 253:
            yield invalid(f"{path}[{index}]", feature, f'invalid feature name "{feature}": {_LONG_FEATURE}')
        elif not _is_feature(feature):
            yield invalid(f"{path}[{index}]", feature, f'invalid feature name "{feature}": {_FEATURE}')
        following = features[index + 1] if index + 1 < len(features) else None
        if feature == following:
            yield duplicate(f"{path}[{index + 1}]", following)
        elif following is not None and feature > following:
            yield invalid(f"{path}[{index + 1}]", following, "list must be sorted alphabetically")


def _validate_networks(networks: Sequence[str], path: str) -> Iterator[Cause]:
    yield from items.each(networks, path, validate_network)
    if len(networks) < 2:
        return
    found = [network(text) for text in networks]
    if None in found:
        wrong = found.index(None)
        shown = f"invalid CIDR[{wrong}]: <nil> (invalid CIDR address: {networks[wrong]})"
        message = f"Internal error: invalid PodCIDRs. failed to check with dual stack with error:{shown}"
        yield Cause("InternalError", message, path)
    if len(networks) > 2 or len({each.version for each in found if each is not None}) < 2:
        message = "may specify no more than one CIDR for each IP family"
        yield invalid(path, list(networks), message, whole=True)


def _validate_change(document: Document, old: Document) -> Iterator[Cause]:
    spec, was, status = document["spec"], old.get("spec", {}), document.get("status", {})
    yield from _validate_resources(status)
    yield from _validate_features(status.get("declaredFeatures") or (), "status.declaredFeatures")
    addresses = status.get("addresses") or ()
    for index, _ in items.repeated((each.get("type", ""), each.get("address", "")) for each in addresses):
        yield duplicate(f"status.addresses[{index}]", addresses[index])
    networks, before = spec.get("podCIDRs") or [], was.get("podCIDRs") or []
    if before and len(before) != len(networks):
        yield forbidden("spec.podCIDRs", _ONCE.format("podCIDR"))
    elif before:
        changed = sum(one != other for one, other in zip(networks, before, strict=True))
        yield from [forbidden("spec.podCIDRs", _ONCE.format("podCIDR"))] * changed
    if was.get("providerID") and was["providerID"] != spec.get("providerID"):
        yield forbidden("spec.providerID", _ONCE.format("providerID"))
    yield from _validate_taints(spec.get("taints") or (), "metadata.taints")
    if spec.get("externalID") != was.get("externalID"):
        yield forbidden("spec.externalID", "may not be updated")
