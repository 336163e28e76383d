"""The addresses of simulated Pods."""

from __future__ import annotations

from itertools import count

_POD_NETWORK = (10, 244)


class PodNetwork:
    """Gives each Pod an address of one network."""

    def __init__(self) -> None:
        self._numbers = count(1)
        self._of_pods: dict[str, str] = {}

    def next(self) -> str:
        """An address that no Pod has had."""
        number = next(self._numbers)
        first, second = _POD_NETWORK
        return f"{first}.{second + number // 65_000}.{number // 250 % 260}.{number % 250 + 2}"

    def of_pod(self, uid: str) -> str:
        """The address of a Pod: the same each time."""
        if uid not in self._of_pods:
            self._of_pods[uid] = self.next()
        return self._of_pods[uid]

    def release(self, uid: str) -> None:
        """The Pod is gone."""
        self._of_pods.pop(uid, None)
