"""A webhook server on an embedded cluster, called over HTTPS as an API server calls it."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec

import pilotage as pt
from pilotage.http import tls
from pilotage.http.client import HTTPClient
from pilotage.http.messages import ClientResponse
from pilotage.meta.documents import Document
from pilotage.webhook.declarations import VALIDATING
from pilotage.webhook.environment import WebhookEnvironment
from pilotage.webhook.typed import validating

from .books import Book, BookWebhook

PATH = "/validate-books-pilotage-dev-v1-book"
CONFIGURATION = "validate-v1.books.books.pilotage.dev"
JSON = (("Content-Type", "application/json"),)


def environment(cluster: pt.Cluster, clock: Any = None) -> WebhookEnvironment:
    return WebhookEnvironment(
        cluster.client, clock or cluster.clock, cluster.registry.local_webhooks, namespace="default"
    )


def book_server(**options: Any) -> pt.webhook.WebhookServer:
    """A server with the validator of books, on a free port of loopback."""
    server = pt.webhook.WebhookServer(
        pt.webhook.WebhookServerOptions(host="127.0.0.1", port=0, **{"serve": True} | options)
    )
    declare_books(server)
    return server


def declare_books(server: pt.webhook.WebhookServer, handler: pt.webhook.AdmissionHandler | None = None) -> None:
    class Manager:
        webhook_server = server

    handler = handler or validating(Book, BookWebhook())
    pt.WebhookBuilder(Manager()).for_(Book).with_validating_handler(handler).complete()


@asynccontextmanager
async def started(server: pt.webhook.WebhookServer, cluster: pt.Cluster, clock: Any = None) -> AsyncIterator[None]:
    """The server runs for the length of the block."""
    server.attach(lambda: environment(cluster, clock))
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(server.start())
        ready = tasks.create_task(server.wait_started())
        await asyncio.wait([running, ready], return_when=asyncio.FIRST_COMPLETED)
        try:
            yield
        finally:
            running.cancel()
            ready.cancel()


async def bundle_of(cluster: pt.Cluster) -> bytes:
    """The authorities that an API server trusts: those of the configuration."""
    configuration = await cluster.client.get(VALIDATING, CONFIGURATION)
    return base64.b64decode(configuration["webhooks"][0]["clientConfig"]["caBundle"])


def https(server: pt.webhook.WebhookServer, bundle: bytes) -> HTTPClient:
    return HTTPClient("127.0.0.1", server.address[1], ssl=tls.client_context(ca_data=bundle.decode()))


async def post(client: HTTPClient, review: Document, path: str = PATH) -> ClientResponse:
    return await client.request("POST", f"{path}?timeout=10s", JSON, msgspec.json.encode(review))
