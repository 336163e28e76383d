"""Pilotage: the controller runtime for Python. One reconciler: in a cluster, in one process, on a node.

Import it as `pt`. Every name here is loaded when it is first used, so importing the package costs next to nothing. The
names are listed once, in `__init__.pyi`.
"""

from pilotage.lazyexports import lazy_exports

__version__ = "0.1.0"

__all__, __getattr__ = lazy_exports(__name__)  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
