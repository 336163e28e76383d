"""The addresses of simulated nodes and Pods."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from ipaddress import IPv4Address
from itertools import count

import msgspec

from pilotage.cache.event import InformerEvent
from pilotage.types.core.v1 import Pod
from pilotage.workloads.pods.index import Pods
from pilotage.workloads.pods.view import PodView

_FIRST = int(IPv4Address("10.244.0.2"))
_COUNT = int(IPv4Address("10.255.255.254")) - _FIRST


@lru_cache(maxsize=8192)
def host_ip(name: str) -> str:
    """The address of a node, from its name."""
    digest = hashlib.sha256(name.encode()).digest()
    return f"172.{16 + digest[0] % 16}.{digest[1]}.{digest[2] % 254 + 1}"


class PodNetwork:
    """Gives each Pod an address of one network. Addresses that Pods have from an earlier run are not given again."""

    def __init__(self, pods: Pods) -> None:
        self._numbers = count()
        self._of_pods: dict[str, str] = {}
        self._taken: set[str] = set()
        pods.subscribe(self._note)

    def next(self) -> str:
        """An address that no Pod has had, until all are used."""
        for number in self._numbers:
            address = str(IPv4Address(_FIRST + number % _COUNT))
            if address not in self._taken or number > _COUNT:
                return address
        raise AssertionError  # the numbers do not end

    def of_pod(self, uid: str) -> str:
        """The address of a Pod: the same each time."""
        if uid not in self._of_pods:
            self._of_pods[uid] = self.next()
        return self._of_pods[uid]

    def release(self, uid: str) -> None:
        """The Pod is gone."""
        self._of_pods.pop(uid, None)

    def _note(self, event: InformerEvent[Pod], before: PodView | None, after: PodView | None) -> None:
        if before is None and after is not None and after.node and event.new_data is not None:
            self._taken.add(_POD.decode(event.new_data).status.pod_ip or "")


class _Status(msgspec.Struct):
    pod_ip: str | None = msgspec.field(default=None, name="podIP")


class _Pod(msgspec.Struct):
    status: _Status = msgspec.field(default_factory=_Status)


_POD = msgspec.json.Decoder(_Pod)
