"""A webhook server on loopback, with a certificate of its own authority: each path has its behaviour."""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pilotage.http.certificates import self_signed
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.http.server import Server, serve
from pilotage.http.tls import server_context
from pilotage.meta.documents import Document

Behaviour = Callable[[Document], Document | bytes | tuple[int, bytes] | None]
"""From a review to the answered review, to raw bytes, to a status and raw bytes, or to no answer at all."""


def allowed(review: Document, **response: Any) -> Document:
    """The answer that allows a request."""
    answer = {"uid": review["request"]["uid"], "allowed": True} | response
    return {"apiVersion": review["apiVersion"], "kind": review["kind"], "response": answer}


def denied(review: Document, **status: Any) -> Document:
    """The answer that refuses a request."""
    return allowed(review, allowed=False, **({"status": status} if status else {}))


def patched(review: Document, *operations: Document) -> Document:
    """The answer that changes an object."""
    patch = base64.b64encode(json.dumps(list(operations)).encode()).decode()
    return allowed(review, patchType="JSONPatch", patch=patch)


class WebhookServer:
    """Records each review that it gets."""

    listening: Server

    def __init__(self) -> None:
        self.behaviours: dict[str, Behaviour] = {}
        self.reviews: list[tuple[str, Document]] = []
        self.hosts: list[str] = []
        """The Host header of each request."""
        self.url = ""
        self.ca_bundle = ""

    def client_config(self, path: str) -> Document:
        return {"url": self.url + path, "caBundle": self.ca_bundle}

    async def answer(self, request: HTTPRequest) -> HTTPResponse:
        path = request.target.partition("?")[0]
        review = json.loads(request.body)
        self.reviews.append((path, review))
        self.hosts.append(request.headers.get("host"))
        found = self.behaviours.get(path, allowed)(review)
        if found is None:
            await asyncio.Event().wait()
        status, body = found if isinstance(found, tuple) else (200, found)
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        return HTTPResponse(status, [("Content-Type", "application/json")], body)


@asynccontextmanager
async def webhook_server(host: str = "127.0.0.1") -> AsyncIterator[WebhookServer]:
    """A webhook server for the length of the block; its certificate is for `host` and for loopback."""
    server = WebhookServer()
    certificate = self_signed(host)
    server.ca_bundle = base64.b64encode(certificate.certificate).decode()
    async with serve(server.answer, ssl=_context(certificate.certificate, certificate.key)) as listening:
        server.url = f"https://127.0.0.1:{listening.port}"
        server.listening = listening
        yield server


@asynccontextmanager
async def raw_server(*answers: bytes | None, keep: bool = False) -> AsyncIterator[WebhookServer]:
    """A server that sends these bytes for its requests, one after another, and then closes the connection.

    With `keep` only None closes it: a connection is kept for the next request.
    """
    server, certificate, left = WebhookServer(), self_signed("127.0.0.1"), list(answers)

    async def serve_connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while left:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                await reader.readexactly(int(head.partition(b"content-length:")[2].partition(b"\r\n")[0]))
                answer = left.pop(0)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
                if not keep:
                    break
        writer.close()

    server.ca_bundle = base64.b64encode(certificate.certificate).decode()
    context = _context(certificate.certificate, certificate.key)
    async with await asyncio.start_server(serve_connection, "127.0.0.1", ssl=context) as listening:
        server.url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        yield server


def _context(certificate: bytes, key: bytes) -> ssl.SSLContext:
    with TemporaryDirectory() as folder:
        files = Path(folder, "tls.crt"), Path(folder, "tls.key")
        for file, content in zip(files, (certificate, key), strict=True):
            file.write_bytes(content)
        return server_context(*map(str, files))
