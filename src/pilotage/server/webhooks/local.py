"""Webhooks that are served by this program: called directly, without a socket and a certificate."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pilotage.errors import InvalidDefinition
from pilotage.meta.documents import Document

DEFAULT_PORT = 443
IN_PROCESS_HOST = "in-process.invalid"
"""The host of webhooks that only the process of their program can call. The domain `invalid` has no addresses, so that
servers that do not know this name fail to call them, too."""
LocalWebhook = Callable[[Document], Awaitable[Document]]
"""From a review to the answered review. Both documents belong to the callee until it returns."""


class LocalWebhooks:
    """The webhooks of this program by the URL that the `clientConfig` of a configuration resolves to.

    A call looks here first; only other URLs are called over HTTPS. The timeout, the failure policy and the checks of
    the answer are the same in both cases.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, LocalWebhook] = {}

    def add(self, url: str, handler: LocalWebhook) -> None:
        """Answer the calls of a URL with `handler`. Raises InvalidDefinition if it has another handler already."""
        if url in self._handlers:
            raise InvalidDefinition(f"the webhook {url} is served by this program already")
        self._handlers[url] = handler

    def remove(self, url: str) -> None:
        """Remove a URL, which is called over HTTPS again; no error if it was not added."""
        self._handlers.pop(url, None)

    def get(self, url: str) -> LocalWebhook | None:
        """The handler of a URL; None if it is called over HTTPS."""
        return self._handlers.get(url)


def webhook_url(client_config: Mapping[str, Any]) -> str:
    """The URL of a webhook: its own, or `https://{service}.{namespace}.svc:{port}{path}` for a Service."""
    url = client_config.get("url")
    if url is not None:
        return str(url)
    service = client_config.get("service") or {}
    host = f"{service.get('name', '')}.{service.get('namespace', '')}.svc:{service.get('port') or DEFAULT_PORT}"
    path = str(service.get("path") or "")
    return f"https://{host}{path if path.startswith('/') else '/' + path if path else ''}"
