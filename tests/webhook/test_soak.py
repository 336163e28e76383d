"""Rotation of the certificates of webhooks on a real API server, while it is written to."""

from __future__ import annotations

import asyncio
import base64
from datetime import timedelta

import pytest

import pilotage as pt
from hack.cluster.running import RealCluster
from pilotage.webhook.certificates.rotation import Validity
from pilotage.webhook.declarations import VALIDATING

from ..environments import over_there
from .books import Book, BookWebhook
from .test_environments import a_book, only_here, started

SECONDS, RATE = 25.0, 100.0
VALIDITY = Validity(timedelta(seconds=18), timedelta(seconds=9), overlap=timedelta(seconds=1))


@pytest.mark.long
@pytest.mark.covers("F30")
async def test_no_write_fails_while_the_authority_is_replaced(real_control_plane: RealCluster) -> None:
    options = pt.webhook.WebhookServerOptions(
        host="127.0.0.1", port=0, secret_name="rotated", validity=VALIDITY, certificate_check_seconds=0.2
    )
    authorities: set[bytes] = set()

    async def write(client: pt.Client, number: int) -> None:
        written = await client.create(a_book(f"book-{number}"), dry_run=True)
        assert written["spec"]["size"] == "A4"

    async with over_there(real_control_plane) as environment:
        server = pt.webhook.WebhookServer(options)
        async with pt.Manager(environment.cluster(), pt.ManagerOptions(webhook_server=server)) as manager:
            await manager.cluster.install(Book)
            webhook, name = BookWebhook(), f"{environment.namespace}.test"
            builder = pt.WebhookBuilder(manager).for_(Book).with_options(only_here(environment)).named(name)
            builder.with_defaulter(webhook).with_validator(webhook).complete()
            client = environment.client.with_namespace(environment.namespace)
            async with started(manager), asyncio.TaskGroup() as writes:
                loop = asyncio.get_running_loop()
                start = loop.time()
                for number in range(int(SECONDS * RATE)):
                    await asyncio.sleep(max(0.0, start + number / RATE - loop.time()))
                    writes.create_task(write(client, number))
                    if number % 50 == 0:
                        found = await client.get(VALIDATING, f"validate.{name}")
                        bundle = base64.b64decode(found["webhooks"][0]["clientConfig"]["caBundle"])
                        authorities.update(part for part in bundle.split(b"-----END CERTIFICATE-----") if part.strip())
    assert len(authorities) > 1
