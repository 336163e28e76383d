"""Stores with indexes, informers, listers, and the cache that creates informers on demand.

Names are loaded when they are first used, and listed in `__init__.pyi`.
"""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
