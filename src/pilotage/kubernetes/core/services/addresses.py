"""Addresses of Services: an IPAddress for each, from the ranges of all ServiceCIDRs that are ready.

The IPAddress is created in the commit of its Service, and deleted in the commit that releases the address. So nothing
else must be read to allocate an address, and no two Services can have the same.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address

from pilotage.errors import Cause, RevisionConflict
from pilotage.kubernetes.core.services.cidrs import ReadyRange
from pilotage.kubernetes.core.services.kinds import is_headless, needs_cluster_ip
from pilotage.kubernetes.core.services.ranges import NO_ADDRESS, RANDOM, Address, AddressRange, address_range
from pilotage.meta import paths
from pilotage.meta.causes import internal_error, invalid
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.matching.configurations import CurrentObjects
from pilotage.server.ownership.owners import set_owner
from pilotage.storage.interface import Delete, Entry, Operation, Put

ADDRESSES = "networking.k8s.io/ipaddresses/"
ADOPTED = "allocations/addresses"
"""The key that a storage has in which every address has its IPAddress."""
MANAGED_BY = {"ipaddress.kubernetes.io/managed-by": "ipallocator.k8s.io"}
_SERVICES = "core/services/"
_FAMILY = "ipaddress.kubernetes.io/ip-family"
_AT_ONCE = 100  # an etcd allows 128 operations in a commit, unless it is configured otherwise


@dataclass(frozen=True, slots=True)
class ServiceRanges:
    """The ranges of the addresses of Services."""

    cidrs: CurrentObjects[Sequence[ReadyRange] | None]
    """Those of the ServiceCIDRs."""
    defaults: Sequence[str]
    """Those of a server that creates no ServiceCIDRs."""

    async def ready(self) -> Sequence[ReadyRange]:
        """The ranges that addresses can be allocated from now."""
        found = await self.cidrs.list()
        if found is not None:
            return found
        return [ReadyRange(each, None) for each in map(address_range, self.defaults) if each is not None]


@dataclass(slots=True)
class AddressAllocation:
    """Allocates the addresses of one Service, and releases those that it had."""

    context: RegistryContext
    service: Document
    had: Collection[str]
    """The addresses of the stored Service."""
    ranges: ServiceRanges
    dry_run: bool
    operations: list[Operation] = field(default_factory=list)
    """What the commit of the Service must include."""

    async def fill(self) -> list[Cause]:
        """Set the missing addresses, in place. Returns what is wrong with the given ones."""
        spec = self.service["spec"]
        addresses: list[str] = []
        if needs_cluster_ip(spec) and not is_headless(spec):
            given = spec.get("clusterIPs") or []
            addresses = [*given, *[""] * (len(spec.get("ipFamilies") or ()) - len(given))]
            if causes := await self._fill(addresses, given):
                return causes
            spec["clusterIP"], spec["clusterIPs"] = addresses[0], addresses
        for text in self.had:
            if text not in addresses and text != NO_ADDRESS and not self.dry_run:
                self.operations += await release(self.context, self.service["metadata"], text)
        return []

    async def _fill(self, addresses: list[str], given: list[str]) -> list[Cause]:
        if all(text in self.had for text in addresses):
            return []
        await adopt(self.context)
        ranges = await self.ranges.ready()
        for index, (text, family) in enumerate(zip(addresses, self.service["spec"]["ipFamilies"], strict=False)):
            if text in self.had:
                continue
            if not text:
                addresses[index] = await self._next(ranges, int(family.removeprefix("IPv")))
            elif problem := await self._request(ranges, text):
                detail = f"failed to allocate IP {text}: {problem}"
                return [invalid("spec.clusterIPs", given, detail, whole=True)]
        return []

    async def _request(self, ranges: Sequence[ReadyRange], text: str) -> str:
        """Allocate a certain address. Returns why it cannot be."""
        address = ip_address(text)
        within = next((each for each in ranges if address in each.addresses), None)
        if within is None:
            return "the provided network does not match the current range"
        if self.dry_run:
            return ""
        entry = await self.context.storage.get(self._key(address))
        if entry is not None and not await _is_stale(self.context, entry, text):
            return "provided IP is already allocated"
        self._take(within, address, entry)
        return ""

    async def _next(self, ranges: Sequence[ReadyRange], version: int) -> str:
        for within in ranges:
            if within.addresses.network.version != version:
                continue
            if self.dry_run:
                return str(within.addresses.network.network_address)
            if (address := await self._free(within.addresses)) is not None:
                self._take(within, address, None)
                return str(address)
        raise internal_error("failed to allocate a serviceIP for the Service: range is full")

    async def _free(self, within: AddressRange) -> Address | None:
        stored, taken = self.context.stored, set[str]()  # an address is taken whether its object can be read or not
        for number, address in enumerate(within.candidates(self.context.chance)):
            key = self._key(address)
            if number == RANDOM:  # it is nearly full: all are listed instead of read one by one
                taken = {entry.key for entry in (await stored.list(self.context.prefix + ADDRESSES)).entries}
            if key not in taken if taken else await stored.get(key) is None:
                return address
        return None

    def _take(self, within: ReadyRange, address: Address, stale: Entry | None) -> None:
        revision = stale.revision if stale is not None else 0
        self.operations.append(Put(self._key(address), _record(self.context, self.service, address), expected=revision))
        if within.condition is not None and within.condition not in self.operations:
            self.operations.append(within.condition)

    def _key(self, address: Address) -> str:
        return f"{self.context.prefix}{ADDRESSES}{address}"


async def release(context: RegistryContext, service: Document, text: str) -> list[Operation]:
    """Delete the IPAddress of an address of a Service, of which the metadata are given."""
    entry = await context.storage.find(f"{context.prefix}{ADDRESSES}{text}")
    if entry is None or _parent(entry) != (service.get("namespace", ""), service["name"]):
        return []
    return [Delete(entry.key, expected=entry.revision)]


async def released(context: RegistryContext, value: bytes) -> list[Operation]:
    """The operations that release all addresses of a stored Service, which is removed in the same commit."""
    document = records.decode(value)
    found = [await release(context, document["metadata"], text) for text in _addresses(document)]
    return [operation for operations in found for operation in operations]


def _addresses(service: Document) -> list[str]:
    return [text for text in paths.items(service, "spec", "clusterIPs") if isinstance(text, str) and text != NO_ADDRESS]


async def adopt(context: RegistryContext) -> None:
    """Create the IPAddresses of Services that were stored before there were any."""
    key = f"{context.prefix}{ADOPTED}"
    while await context.storage.get(key) is None:
        services = (await context.storage.list(context.prefix + _SERVICES)).entries
        puts: list[Operation] = [put for entry in services for put in await _missing(context, entry)]
        with suppress(RevisionConflict):  # another process does the same
            for at in range(0, len(puts), _AT_ONCE):
                await context.commit(*puts[at : at + _AT_ONCE])
            await context.commit(Put(key, b"", expected=0))


async def _missing(context: RegistryContext, entry: Entry) -> list[Put]:
    service = records.decode(entry.value)
    found: list[Put] = []
    for text in _addresses(service):
        with suppress(ValueError):  # it is no address: the Service was not stored by a server
            address = ip_address(text)
            if await context.stored.get(key := f"{context.prefix}{ADDRESSES}{text}") is None:
                found.append(Put(key, _record(context, service, address), expected=0))
    return found


async def _is_stale(context: RegistryContext, entry: Entry, text: str) -> bool:
    """Whether the Service that an IPAddress is of does not have the address."""
    parent = _parent(entry)
    if parent is None:
        return False
    try:
        service = await context.storage.get(f"{context.prefix}{_SERVICES}{'/'.join(parent)}")
    except records.UnreadableObject:
        return False
    return service is None or text not in _addresses(records.decode(service.value))


def _parent(entry: Entry) -> tuple[str, str] | None:
    """The namespace and name of the Service that an IPAddress belongs to; None if it is of something else."""
    parent = records.decode(entry.value)["spec"]["parentRef"]
    if parent.get("group") or parent["resource"] != "services":
        return None
    return parent.get("namespace", ""), parent["name"]


def _record(context: RegistryContext, service: Document, address: Address) -> bytes:
    metadata, now = service["metadata"], context.now()
    document: Document = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {
            "name": str(address),
            "uid": context.uid(),
            "creationTimestamp": now,
            "labels": {_FAMILY: f"IPv{address.version}", **MANAGED_BY},
        },
        "spec": {"parentRef": {"resource": "services", "namespace": metadata["namespace"], "name": metadata["name"]}},
    }
    set_owner(document, "kube-apiserver", now)
    document["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"] = {
        "f:parentRef": {".": {}, "f:name": {}, "f:namespace": {}, "f:resource": {}}
    }
    return records.encode(document)
