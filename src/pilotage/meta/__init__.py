"""Pure data, no I/O: models, metadata, kinds, selectors, quantities, times, codecs."""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
