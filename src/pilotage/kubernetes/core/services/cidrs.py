"""The ranges of the ServiceCIDRs that are ready, as they are stored: also one that no controller has seen yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from pilotage.kubernetes.core.services.ranges import AddressRange, address_range
from pilotage.storage.interface import Check, Entry

CIDRS = "networking.k8s.io/servicecidrs/"
"""What the keys of ServiceCIDRs begin with."""


class ReadyRange(NamedTuple):
    """A range that addresses can be allocated from."""

    addresses: AddressRange
    condition: Check | None
    """Its ServiceCIDR is still as it was; None for a range of a server that has no ServiceCIDRs."""


def ready_ranges(entries: Sequence[Entry]) -> Sequence[ReadyRange] | None:
    """The ranges of stored ServiceCIDRs; None if there are no ServiceCIDRs at all."""
    return tuple(found for entry in entries for found in _ready(entry)) if entries else None


def _ready(entry: Entry) -> Iterator[ReadyRange]:
    document: dict[str, Any] = msgspec.json.decode(entry.value)
    conditions = (document.get("status") or {}).get("conditions") or ()
    ready = all(each.get("type") != "Ready" or each.get("status") == "True" for each in conditions)
    if ready and "deletionTimestamp" not in document["metadata"]:
        for cidr in document["spec"]["cidrs"]:
            if (found := address_range(cidr)) is not None:
                yield ReadyRange(found, Check(entry.key, entry.revision))
