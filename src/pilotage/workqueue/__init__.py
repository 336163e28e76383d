"""The work queue: one worker at a time holds an item; priorities, delays, backoff."""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
