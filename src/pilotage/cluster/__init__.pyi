# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.cluster.cachedclient import CachedClient as CachedClient
from pilotage.cluster.cachedclient import CachedClientOptions as CachedClientOptions
from pilotage.cluster.cluster import Cluster as Cluster
from pilotage.cluster.events import EventRecorder as EventRecorder
from pilotage.cluster.light import LightCluster as LightCluster
from pilotage.server.tenants import delete_tenant as delete_tenant
from pilotage.server.tenants import tenants as tenants
