"""A stream of changes that survives anything; stores with indexes; informers; the cache over them."""

from pilotage.cache.cache import Cache
from pilotage.cache.errors import CacheNotStarted, NamespaceRemoved, NotCached
from pilotage.cache.event import InformerEvent, ResourceEventHandler
from pilotage.cache.factory import SharedInformerFactory
from pilotage.cache.group import InformerGroup
from pilotage.cache.informer import Informer
from pilotage.cache.listeners import Registration
from pilotage.cache.lister import Lister
from pilotage.cache.options import InformerOptions
from pilotage.cache.plan import ByObject, CacheOptions, NamespaceConfig
from pilotage.cache.transforms import strip_managed_fields

__all__ = [
    "ByObject",
    "Cache",
    "CacheNotStarted",
    "CacheOptions",
    "Informer",
    "InformerEvent",
    "InformerGroup",
    "InformerOptions",
    "Lister",
    "NamespaceConfig",
    "NamespaceRemoved",
    "NotCached",
    "Registration",
    "ResourceEventHandler",
    "SharedInformerFactory",
    "strip_managed_fields",
]
