"""Recordings: histories in files. Names are loaded on first use, and listed in `__init__.pyi`."""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
