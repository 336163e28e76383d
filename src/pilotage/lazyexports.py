"""The exports of a package that are imported on first use. They are listed once, in the package's `__init__.pyi`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module

TYPE_CHECKING = False  # every program imports this module, and typing takes longer than the rest of it
if TYPE_CHECKING:
    from typing import Any


def lazy_exports(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """The `__getattr__` and the `__dir__` of a package, from lines of its stub: `from module import Name as Name`.

    They also give it `__all__`. The stub is read when a name is first used.
    """
    module = sys.modules[package]

    @cache
    def modules() -> dict[str, str]:
        # The loader reads the stub, so that this works for a package in an archive too.
        loader: Any = module.__loader__
        stub: bytes = loader.get_data(f"{module.__path__[0]}/__init__.pyi")
        lines = [line.split() for line in stub.decode().splitlines() if line.startswith("from ")]
        return {words[-1]: words[1] for words in lines}

    def load(name: str) -> object:
        if name == "__all__":
            return sorted(modules())
        if name.startswith("__") or name not in modules():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if _has_threads():
            # msgspec imports its own modules. If one thread begins with msgspec and another one with a module
            # of it, each waits for the other, and Python raises an error in one of them.
            import_module("msgspec")
        container = import_module(modules()[name])
        value = vars(container).get(name) if container is module else getattr(container, name, None)
        if value is None:  # a module of a package, which is an attribute once it is imported
            value = import_module(f"{modules()[name]}.{name}")
        setattr(module, name, value)
        return value

    return load, lambda: [*modules(), *vars(module)]


def _has_threads() -> bool:
    threading = sys.modules.get("threading")
    return threading is not None and threading.active_count() > 1
