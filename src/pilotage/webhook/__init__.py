"""Admission and authentication webhooks: handlers, the HTTPS server, its certificates, and their registration.

`pilotage.WebhookBuilder` is the usual way in; this package has the parts.
"""

from pilotage.lazyexports import lazy_exports

__getattr__, __dir__ = lazy_exports(__name__)
