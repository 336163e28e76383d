"""The API server that calls the webhooks of a program."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from pilotage.client.client import Client
from pilotage.meta.documents import Document
from pilotage.server.webhooks.local import LocalWebhooks


@dataclass(frozen=True, slots=True)
class WebhookEnvironment:
    """The API server that calls the webhooks."""

    client: Client
    clock: Callable[[], datetime]
    local: LocalWebhooks | None = None
    """The webhooks that an embedded API server calls in process; None: it is remote."""
    server_url: str = ""
    """Of a remote API server."""
    namespace: str = ""
    """The namespace that the program runs in, or works in."""
    conversions: dict[str, Document] = field(default_factory=dict)
    """The `spec.conversion` of CRDs by their names, for those that are installed later."""
