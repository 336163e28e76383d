"""Bytes under keys, one increasing revision, and a log to watch from: in memory, in a SQLite file, or on etcd.

Names are loaded when they are first used, and listed in `__init__.pyi`: a read of a file needs few of them.
"""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
