"""Pilotage: the controller runtime for Python. One reconciler: in a cluster, in one process, on a node.

Import it as `pt`. Every name here is loaded when it is first used, so importing the package costs next to nothing. The
names are listed once, in `__init__.pyi`.
"""

from pilotage.lazyexports import lazy_exports

__version__ = "0.1.0"

__getattr__, __dir__ = lazy_exports(__name__)
