"""One API server as a program sees it."""

from pilotage.cluster.cluster import Cluster

__all__ = ["Cluster"]
