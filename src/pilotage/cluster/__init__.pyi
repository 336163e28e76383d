# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.cluster.cluster import Cluster as Cluster
from pilotage.cluster.light import LightCluster as LightCluster
