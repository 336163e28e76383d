"""Where the addresses and ports of Services come from, as with kube-apiserver's `--service-cluster-ip-range`."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

from pilotage.errors import InvalidDefinition

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

SERVICE_RANGES = ("10.0.0.0/16",)
"""The ranges of a new cluster: one of each family, the first of which is the default."""
NODE_PORTS = range(30000, 32768)
NO_ADDRESS = "None"
"""The cluster IP of a headless Service."""
_LEAST_RESERVED, _MOST_RESERVED, _PART = 16, 256, 16
_LEAST_ADDRESSES = 8
RANDOM = 64
"""Random addresses that are tried before a scan."""
_LONGEST = {4: 32, 6: 64}
"""A range of IPv6 has at most 64 bits."""


@dataclass(frozen=True, slots=True)
class AddressRange:
    """The addresses of a network that Services can have: all but the first, and of IPv4 the last."""

    network: Network

    @property
    def _first(self) -> int:
        return int(self.network.network_address) + 1

    @property
    def _last(self) -> int:
        return int(self.network.broadcast_address) - (self.network.version == 4)

    def __contains__(self, address: Address) -> bool:
        return address.version == self.network.version and self._first <= int(address) <= self._last

    def candidates(self, chance: random.Random) -> Iterator[Address]:
        """Random addresses, then all from a random one on. The first ones of the range come last, because they are
        meant for Services that request a certain one."""
        upper, kind = self._first + self._reserved(), type(self.network.network_address)
        if upper <= self._last:
            # Runs of taken addresses grow longer than their share: a scan from a random one would visit many.
            yield from (kind(chance.randrange(upper, self._last + 1)) for _ in range(RANDOM))
        for first, last in ((upper, self._last), (self._first, upper - 1)):
            count = last - first + 1
            start = chance.randrange(count) if count > 0 else 0
            yield from (kind(first + (start + number) % count) for number in range(count))

    def _reserved(self) -> int:
        size = self._last - self._first + 1
        return 0 if size <= _LEAST_RESERVED else min(max(size // _PART, _LEAST_RESERVED), _MOST_RESERVED)


def address_range(cidr: str) -> AddressRange | None:
    """The range of a CIDR; None if Services cannot have addresses of it."""
    network = ip_network(cidr, strict=False)
    bits = network.max_prefixlen - network.prefixlen
    return AddressRange(network) if bits <= _LONGEST[network.version] else None


def families_of(ranges: Sequence[str]) -> tuple[str, ...]:
    """The families of ranges, in their order."""
    return tuple(f"IPv{ip_network(each, strict=False).version}" for each in ranges)


def checked_ranges(ranges: Sequence[str]) -> tuple[str, ...]:
    """The ranges of a cluster in canonical form. Raises InvalidDefinition."""
    try:
        networks = [ip_network(each) for each in ranges]
    except ValueError as error:
        raise InvalidDefinition(f"the service cluster IP range {error}; write one as 10.0.0.0/16") from error
    if not 0 < len(networks) <= 2 or len({each.version for each in networks}) < len(networks):
        text = "give one range, or one of IPv4 and one of IPv6"
        raise InvalidDefinition(f"the service cluster IP ranges {', '.join(ranges) or 'are missing'}: {text}")
    for each in networks:
        if each.num_addresses < _LEAST_ADDRESSES or each.max_prefixlen - each.prefixlen > _LONGEST[each.version]:
            text = f"it must have at least {_LEAST_ADDRESSES} addresses, and of IPv6 a prefix of 64 bits or more"
            raise InvalidDefinition(f"the service cluster IP range {each} cannot be used: {text}")
    return tuple(map(str, networks))
