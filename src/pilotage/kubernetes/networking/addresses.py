"""IPAddresses and ServiceCIDRs: the addresses of Services."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.checks.addresses import network, validate_canonical_address, validate_network
from pilotage.meta.causes import invalid, required
from pilotage.meta.documents import Document
from pilotage.meta.validation.names import path_segment_name
from pilotage.server.strategies.checks import fields, texts
from pilotage.server.strategies.strategy import Strategy

CIDR_FINALIZER = "networking.k8s.io/service-cidr-finalizer"
"""It keeps a ServiceCIDR while Services have addresses of it."""
_CIDRS = "spec.cidrs"
_MOST_CIDRS = 2
_ONE_EACH = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"


class IPAddressStrategy(Strategy):
    """An address that is in use: its name is the address, and it belongs to one object for ever."""

    def damages(self, document: Document) -> list[Cause]:
        return self.validate(document)

    def validate(self, document: Document) -> list[Cause]:
        name = document["metadata"].get("name", "")
        named = name and not path_segment_name(name)  # what is no name of any kind has been reported
        return [
            *(validate_canonical_address(name, "metadata.name") if named else ()),
            *_validate_parent((document.get("spec") or {}).get("parentRef"), "spec.parentRef"),
        ]


def _validate_parent(parent: Document | None, path: str) -> Iterator[Cause]:
    if parent is None:
        yield required(path)
        return
    yield from texts.optional_text(parent.get("group"), f"{path}.group")
    for key in ("resource", "name"):
        yield from texts.required_text(parent.get(key), f"{path}.{key}", path_segment_name)
    yield from texts.optional_text(parent.get("namespace"), f"{path}.namespace", path_segment_name)


class ServiceCIDRStrategy(Strategy):
    """Ranges of addresses for Services, one of each family. A second family can be added, and nothing else."""

    def damages(self, document: Document) -> Iterator[Cause]:
        return self.validate(document)

    def validate(self, document: Document) -> Iterator[Cause]:
        return _validate_cidrs(_cidrs(document))

    def validate_update(self, document: Document, old: Document) -> list[Cause]:
        new, was = _cidrs(document), _cidrs(old)
        if len(new) == len(was):
            return [
                invalid(f"{_CIDRS}[{index}]", each, fields.IMMUTABLE)
                for index, (each, before) in enumerate(zip(new, was, strict=True))
                if each != before
            ]
        if (len(was), len(new)) != (1, _MOST_CIDRS):
            return [invalid(_CIDRS, new, fields.IMMUTABLE, whole=True)]
        changed = [invalid(f"{_CIDRS}[0]", new[0], fields.IMMUTABLE)] if new[0] != was[0] else []
        return [*changed, *_validate_cidrs(new)]


def _cidrs(document: Document) -> list[str]:
    return list((document.get("spec") or {}).get("cidrs") or ())


def _validate_cidrs(cidrs: list[str]) -> Iterator[Cause]:
    if not cidrs:
        yield required(_CIDRS, "at least one CIDR required")
        return
    if len(cidrs) > _MOST_CIDRS:
        yield invalid(_CIDRS, {"cidrs": cidrs}, f"may only hold up to {_MOST_CIDRS} values")
        return
    for index, cidr in enumerate(cidrs):
        path = f"{_CIDRS}[{index}]"
        found = list(validate_network(cidr, path))
        yield from found
        if not found and cidr != (canonical := str(network(cidr))):
            yield invalid(path, cidr, f'must be in canonical form ("{canonical}")')
    families = [known.version if (known := network(cidr)) else None for cidr in cidrs]
    if len(cidrs) == _MOST_CIDRS and families[0] == families[1] is not None:
        yield invalid(_CIDRS, cidrs, _ONE_EACH, whole=True)
