"""Calls webhooks: in process, if this program serves them, else over HTTPS on kept connections."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import msgspec

from pilotage.errors import ConnectionLost, DecodeError, PilotageError
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.server.webhooks import answers
from pilotage.server.webhooks.answers import AnswerError
from pilotage.server.webhooks.endpoints import Services, WebhookTarget
from pilotage.server.webhooks.local import IN_PROCESS_HOST, LocalWebhook, LocalWebhooks

if TYPE_CHECKING:
    from pilotage.http.client import HTTPClient
    from pilotage.http.messages import ClientResponse

MAX_ANSWER = 3 * 1024 * 1024
"""Bytes of an answer: as many as a request to this server may have."""
_MAX_CLIENTS = 200
_HEADERS = (("Accept", "application/json, */*"), ("Content-Type", "application/json"))
_IN_ANOTHER_PROCESS = (
    "it is called only in the process of its program, and this is another one: run the program on this storage "
    "(pilotage run), and send the request to that, or let it listen for other processes (WebhookServerOptions.serve)"
)
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class CallError(PilotageError):
    """A webhook that could not be called, or did not answer with a review."""


class WebhookCaller:
    """Calls webhooks by their endpoints."""

    def __init__(self, local: LocalWebhooks, services: Services) -> None:
        self._local = local
        self._services = services
        self._clients: dict[tuple[object, ...], HTTPClient] = {}

    async def call(self, endpoint: WebhookTarget, review: Document, timeout: float | None = None) -> Document:
        """Send a review and return the answered one. Raises CallError, at the latest after `timeout` seconds."""
        import asyncio  # loaded on use: a program that calls no webhook may have no event loop

        handler = self._local.get(endpoint.url)
        try:
            async with asyncio.timeout(timeout):
                if handler is not None:
                    answer = await _call_local(handler, review)
                elif endpoint.host == IN_PROCESS_HOST:
                    raise OSError(_IN_ANOTHER_PROCESS)
                else:
                    answer = await self._post(endpoint, review, timeout)
            return answers.checked(answer, GroupVersionKind.of(review["apiVersion"], review["kind"]))
        except TimeoutError:
            reason = "context deadline exceeded"
        except AnswerError as error:
            raise CallError(str(error)) from error
        except OSError as error:
            reason = str(error)
        raise CallError(f'Post "{endpoint.shown(timeout)}": {reason}')

    async def close(self) -> None:
        """Close all connections."""
        clients, self._clients = list(self._clients.values()), {}
        for client in clients:
            await client.close()

    async def _post(self, endpoint: WebhookTarget, review: Document, timeout: float | None) -> Any:
        client, address, hint = await self._client(endpoint)
        call = ("POST", endpoint.target(timeout), _HEADERS, _encode(review))
        try:
            response = await _send(client, call)
        except DecodeError as error:
            raise AnswerError(f"the answer has more than {MAX_ANSWER} bytes") from error
        except ConnectionLost as lost:
            raise OSError(answers.lost_connection(lost, address) + hint) from lost
        return answers.decoded(response.body, response.status, response.headers.get("content-type"))

    async def _close_oldest(self) -> None:
        """Close the client that was not used for the longest time, if it has no request."""
        for key, client in self._clients.items():
            if not client.statistics().busy:
                del self._clients[key]
                await client.close()
                return

    async def _client(self, endpoint: WebhookTarget) -> tuple[HTTPClient, str, str]:
        """The client for an endpoint, its address, and a hint for the case that it cannot connect. Raises OSError."""
        host, port, hint = endpoint.host, endpoint.port, ""
        if endpoint.service is not None:
            host, port, hint = await self._services.address(endpoint.service)
        if not port:
            raise OSError(f"dial tcp: the port of {endpoint.url} is not a port")
        key = (host, port, endpoint.host, endpoint.port, endpoint.ca_bundle)
        client = self._clients.pop(key, None)
        if client is None:
            client = _client(endpoint, host, port)
        self._clients[key] = client  # the most recently used last
        if len(self._clients) > _MAX_CLIENTS:
            await self._close_oldest()
        from pilotage.net.sockets import address_text

        return client, address_text(host, port), hint


async def _send(client: HTTPClient, call: tuple[Any, ...]) -> ClientResponse:
    """Send a request. It is sent again if the server has closed the connection, which was kept from an
    earlier call: a review has no effect by itself. That ends, since such a connection is not kept again."""
    while True:
        try:
            return await client.request(*call)
        except ConnectionLost as lost:
            if lost.timed_out or not lost.reused:
                raise


async def _call_local(handler: LocalWebhook, review: Document) -> Any:
    """Call a webhook of this program. Its documents are its own, as if they had come over a connection."""
    try:
        return _decode(_encode(await handler(_decode(_encode(review)))))
    except Exception as error:
        raise OSError(f"the webhook of this program failed: {type(error).__name__}: {error}") from error


def _client(endpoint: WebhookTarget, host: str, port: int) -> HTTPClient:
    from pilotage.http.client import HTTPClient  # with TLS: not loaded before there is a webhook to call
    from pilotage.http.connector import ServerRoute
    from pilotage.http.limits import HTTPLimits
    from pilotage.http.tls import client_context

    try:
        context = client_context(ca_data=base64.b64decode(endpoint.ca_bundle).decode())
    except (ValueError, OSError) as error:
        raise OSError(f"unable to load root certificates: {error}") from error
    return HTTPClient(
        host,
        port,
        ssl=context,
        route=ServerRoute(endpoint.host, f"{endpoint.host}:{endpoint.port}" if endpoint.service is not None else ""),
        limits=HTTPLimits(response_bytes=MAX_ANSWER),
    )
