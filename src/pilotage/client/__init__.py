"""Talk to an API server: the client, in process or over HTTP.

Names are loaded when they are first used, and listed in `__init__.pyi`. `HTTPTransport` is in
`pilotage.client.transport.http`.
"""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
