# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.client.client import Client as Client
from pilotage.client.patch import Patch as Patch
from pilotage.client.patch import merge_from as merge_from
from pilotage.client.patch import raw_patch as raw_patch
from pilotage.client.patch import strategic_merge_from as strategic_merge_from
from pilotage.client.watching import WatchedEvent as WatchedEvent
from pilotage.meta.objectlist import ObjectList as ObjectList
