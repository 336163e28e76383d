"""Changes of the finalizers of an object, as operations of a JSON patch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pilotage.meta.values import Value

Operations = list[dict[str, Any]]
_PATH = "/metadata/finalizers"


class FinalizersChange(Value, frozen=True):
    """Finalizers that are added and removed. `empty` removes all that the object has."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    empty: bool = False

    def operations(self, current: Sequence[str]) -> Operations:
        """The operations for an object with these finalizers; without any, nothing changes."""
        removed = [index for index, finalizer in enumerate(current) if finalizer in self.remove]
        if not self.empty and not (self.remove and len(removed) == len(current)):
            found: Operations = [{"op": "remove", "path": f"{_PATH}/{index}"} for index in reversed(removed)]
            return found + self._additions(current)
        cleared: Operations = [{"op": "remove", "path": _PATH}] if current else []
        return cleared + self._additions(())

    def _additions(self, current: Sequence[str]) -> Operations:
        if not self.add:
            return []
        if not current:
            return [{"op": "add", "path": _PATH, "value": list(self.add)}]
        new = [finalizer for finalizer in self.add if finalizer not in current]
        return [{"op": "add", "path": f"{_PATH}/-", "value": finalizer} for finalizer in new]
