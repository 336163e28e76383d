"""How the deletion of a kind differs from that of the others."""

from __future__ import annotations

from typing import NamedTuple


class DeletionRules(NamedTuple):
    """The rules of a deletion. The defaults are those of most kinds."""

    returns_object: bool = False
    """The answer is the deleted object; else it is a Status."""
    has_dependents: bool = True
    """Propagation policies apply."""
    policy: str = "Background"
    """The propagation policy where neither the request nor the object has one."""
    collecting_policy: str = "Background"
    """The propagation policy for `orphanDependents: false`."""
    warning: str = ""
    """The warning about a deletion whose request has no propagation policy."""


def clamped(seconds: int) -> int:
    """A negative grace period counts as one second."""
    return seconds if seconds >= 0 else 1
