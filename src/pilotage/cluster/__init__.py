"""One API server as a program sees it. Names are loaded when they are first used, and listed in `__init__.pyi`."""

from pilotage.lazyexports import lazy_exports

__all__, __getattr__ = lazy_exports(__name__)  # pyright: ignore[reportUnsupportedDunderAll]


def __dir__() -> list[str]:
    return __all__
