"""The manager: runnables in order, leader election, health, metrics, work tracking, shutdown."""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
