"""Simulated workloads beside a program or a server: nodes and Pods that behave, in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from pilotage.kit.console.errors import CommandError

if TYPE_CHECKING:
    from pilotage.cluster import Cluster

NODES = 3
"""How many nodes are simulated if no number is given."""


@asynccontextmanager
async def simulated_workloads(cluster: Cluster, nodes: int = NODES) -> AsyncIterator[None]:
    """Simulate workloads on an open cluster inside the block."""
    yield


def simulated_nodes(environment: Mapping[str, str]) -> int:
    """How many nodes the environment of a suite asks for: PILOTAGE_NODES, with PILOTAGE_WORKLOADS=1; else 0.

    Raises CommandError.
    """
    if environment.get("PILOTAGE_WORKLOADS", "").lower() not in ("1", "true", "yes", "on"):
        return 0
    text = environment.get("PILOTAGE_NODES", "") or str(NODES)
    if not text.isdigit() or not int(text):
        raise CommandError(f"PILOTAGE_NODES={text}: must be a number of nodes, such as 3")
    return int(text)
