"""Rotation of the certificates under load: authorities that are valid for seconds, and requests all the time."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import msgspec

import pilotage as pt
from bench.webhooks.reviews import PATH, declare, review
from pilotage.http import tls
from pilotage.http.client import HTTPClient
from pilotage.webhook.certificates.rotation import Validity
from pilotage.webhook.declarations import VALIDATING

VALIDITY = Validity(timedelta(seconds=18), timedelta(seconds=9), overlap=timedelta(seconds=1))
FRESH = 10
"""One request in ten is on a new connection."""


@dataclass
class Outcome:
    """What became of the requests."""

    answered: int = 0
    failed: list[str] = field(default_factory=list)
    bundles: set[bytes] = field(default_factory=set)


async def rotate(seconds: float, rate: float) -> Outcome:
    """Send requests at a rate, each with the bundle that is registered at that moment, as an API server does."""
    options = pt.webhook.WebhookServerOptions(
        host="127.0.0.1", port=0, serve=True, validity=VALIDITY, certificate_check_seconds=0.2
    )
    server = pt.webhook.WebhookServer(options)
    outcome = Outcome()
    async with pt.Manager(pt.Cluster.embedded(), pt.ManagerOptions(webhook_server=server)) as manager:
        declare(manager)
        running = asyncio.create_task(manager.start())
        await manager.ready()
        async with _Callers(manager, server, outcome).open() as callers:
            start = time.perf_counter()
            for number in range(int(seconds * rate)):
                await asyncio.sleep(max(0.0, start + number / rate - time.perf_counter()))
                callers.call(fresh=number % FRESH == 0)
        running.cancel()
        await asyncio.wait([running])
    return outcome


class _Callers:
    """Requests in flight, and a kept client for each bundle."""

    def __init__(self, manager: pt.Manager, server: pt.webhook.WebhookServer, outcome: Outcome) -> None:
        self._manager = manager
        self._server = server
        self._outcome = outcome
        self._body = msgspec.json.encode(review())
        self._kept: dict[bytes, HTTPClient] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator[_Callers]:
        try:
            yield self
            await asyncio.gather(*self._tasks)
        finally:
            for client in self._kept.values():
                await client.close()

    def call(self, *, fresh: bool) -> None:
        task = asyncio.create_task(self._call(fresh))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _call(self, fresh: bool) -> None:
        try:
            (configuration,) = await self._manager.cluster.client.list(VALIDATING)
            bundle = base64.b64decode(configuration["webhooks"][0]["clientConfig"]["caBundle"])
            self._outcome.bundles.add(bundle)
            if fresh:
                async with self._client(bundle) as client:
                    await self._post(client)
                return
            if bundle not in self._kept:
                self._kept[bundle] = self._client(bundle)
            await self._post(self._kept[bundle])
        except Exception as error:  # each failure is a finding
            self._outcome.failed.append(repr(error))

    async def _post(self, client: HTTPClient) -> None:
        answer = await client.request("POST", PATH, (("Content-Type", "application/json"),), self._body)
        if answer.status == 200 and msgspec.json.decode(answer.body)["response"]["allowed"]:
            self._outcome.answered += 1
        else:
            self._outcome.failed.append(f"{answer.status}: {answer.body[:200]!r}")

    def _client(self, bundle: bytes) -> HTTPClient:
        return HTTPClient("127.0.0.1", self._server.address[1], ssl=tls.client_context(ca_data=bundle.decode()))
