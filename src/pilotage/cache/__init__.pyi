# The exports of the package, for type checkers and for `__init__.py`. One import to a line.

from pilotage.cache.cache import Cache as Cache
from pilotage.cache.errors import CacheNotStarted as CacheNotStarted
from pilotage.cache.errors import NamespaceRemoved as NamespaceRemoved
from pilotage.cache.errors import NotCached as NotCached
from pilotage.cache.event import InformerEvent as InformerEvent
from pilotage.cache.event import ResourceEventHandler as ResourceEventHandler
from pilotage.cache.factory import SharedInformerFactory as SharedInformerFactory
from pilotage.cache.group import InformerGroup as InformerGroup
from pilotage.cache.informer import Informer as Informer
from pilotage.cache.listeners import Registration as Registration
from pilotage.cache.lister import Lister as Lister
from pilotage.cache.options import InformerOptions as InformerOptions
from pilotage.cache.plan import ByObject as ByObject
from pilotage.cache.plan import CacheOptions as CacheOptions
from pilotage.cache.plan import NamespaceConfig as NamespaceConfig
from pilotage.cache.transforms import strip_managed_fields as strip_managed_fields
