"""Talk to an API server: the client, in process or over HTTP.

`HTTPTransport` is in `pilotage.client.http`, which loads TLS and the HTTP client when it is imported.
"""

from pilotage.client.client import Client
from pilotage.client.patch import Patch, merge_from, raw_patch, strategic_merge_from
from pilotage.client.watching import WatchedEvent
from pilotage.meta.objectlist import ObjectList

__all__ = [
    "Client",
    "ObjectList",
    "Patch",
    "WatchedEvent",
    "merge_from",
    "raw_patch",
    "strategic_merge_from",
]
