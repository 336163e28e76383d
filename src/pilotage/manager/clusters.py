"""Further clusters of a manager: each with its own cache and client, in the same program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pilotage.cache.cache import Cache
from pilotage.client.client import Client
from pilotage.cluster.cluster import Cluster
from pilotage.errors import InvalidDefinition
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


def check_new(cluster: Cluster, name: str, own: Cluster, members: Sequence[MemberCluster]) -> None:
    """Raises InvalidDefinition if a manager has the cluster or the name already."""
    if any(member.name == name for member in members):
        raise InvalidDefinition(f"there is a cluster {name!r} already; give this one another name")
    if cluster is own or any(member.cluster is cluster for member in members):
        raise InvalidDefinition("this cluster is part of the manager already")
