"""Further clusters of a manager: each with its own cache and client, in the same program."""

from __future__ import annotations

from dataclasses import dataclass, field

from pilotage.cache.cache import Cache
from pilotage.client.client import Client
from pilotage.cluster.cluster import Cluster
from pilotage.manager.lag import Lag


@dataclass(frozen=True, slots=True)
class MemberCluster:
    """A cluster that a manager works with besides its own; from `manager.add_cluster`."""

    name: str
    cluster: Cluster = field(repr=False)
    cache: Cache = field(repr=False)
    """Filled while the manager runs."""
    client: Client = field(repr=False)
    """Reads from the cache, writes live."""
    lag: Lag = field(repr=False)

    @property
    def api_reader(self) -> Client:
        """Reads live, past the cache."""
        return self.cluster.client
