"""Pilotage: the controller runtime for Python. One reconciler: in a cluster, in one process, on a node.

Import it as `pt`. Every name here is loaded when it is first used, so importing the package costs next to nothing. The
names are listed once, in `__init__.pyi`.
"""

from importlib import import_module

__version__ = "0.1.0"


def _modules() -> dict[str, str]:
    """The module of each name, from the lines `from module import Name as Name` of the stub."""
    stub = __spec__.loader.get_data(f"{__path__[0]}/__init__.pyi")  # the loader's, so that it works from an archive too
    lines = [line.split() for line in stub.decode().splitlines() if line.startswith("from ")]
    return {words[-1]: words[1] for words in lines}


_MODULES = _modules()

__all__ = sorted(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'pilotage' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
