"""The health probes of the managers in this process. If it is one of several processes, its parent calls them."""

from __future__ import annotations

from collections.abc import Callable

Probe = Callable[[str], bool]
"""Returns whether a manager is alive (`healthz`) or ready (`readyz`). Called in another thread than the manager's."""

_probes: list[Probe] = []


def add_probe(probe: Probe) -> Callable[[], None]:
    """Register the health probe of a manager, which the parent calls; the returned function removes it. Without a
    parent nothing calls it."""
    _probes.append(probe)
    return lambda: _probes.remove(probe)


def registered_probes() -> list[Probe]:
    """The probes of the managers that are open."""
    return list(_probes)


def clear_probes() -> None:
    """Remove the probes that a new process has from its parent."""
    _probes.clear()
