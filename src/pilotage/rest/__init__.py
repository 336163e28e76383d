"""The API dialect without I/O: requests and answers as values, and the transport interface that carries them.

Names are loaded when they are first used, and listed in `__init__.pyi`.
"""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
