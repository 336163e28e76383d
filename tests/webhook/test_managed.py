"""The certificate in a Secret: shared by replicas, and rotated without a failed request."""

from __future__ import annotations

import asyncio
import base64
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta

import pytest

import pilotage as pt
from pilotage.http import tls
from pilotage.http.client import HTTPClient
from pilotage.types.core.v1 import Secret
from pilotage.webhook.certificates.managed import ManagedCertificates
from pilotage.webhook.certificates.rotation import Validity
from tests.clocks import SetClock

from .books import book, review
from .serving import book_server, bundle_of, https, post, started

START = datetime(2026, 1, 1, tzinfo=UTC)


def managed(cluster: pt.Cluster, host: str = "a.default.svc", clock: SetClock | None = None) -> ManagedCertificates:
    return ManagedCertificates(cluster.client, "certificate", "default", (host,), clock or SetClock(START))


async def test_replicas_share_the_authority_and_the_certificate() -> None:
    async with pt.Cluster.embedded() as cluster:
        one, other = managed(cluster), managed(cluster)
        await asyncio.gather(one.open(), other.open())
        await one.open()
        assert one.state == other.state
        secret = await cluster.client.get(Secret, "certificate", namespace="default")
        assert secret.type == "kubernetes.io/tls"
        assert base64.b64decode(secret.data["ca.crt"]) == one.bundle
        assert base64.b64decode(secret.data["tls.crt"]) == one.certificate.certificate


async def test_a_secret_that_cannot_be_used_is_made_again_and_keeps_foreign_keys() -> None:
    async with pt.Cluster.embedded() as cluster:
        first = managed(cluster)
        await first.open()
        secret = await cluster.client.get(Secret, "certificate", namespace="default")
        secret.data = {**secret.data, "authority.key": secret.data["tls.key"], "note": "YQ=="}
        await cluster.client.update(secret)
        second = managed(cluster)
        await second.open()
        assert second.state.current != first.state.current
        assert (await cluster.client.get(Secret, "certificate", namespace="default")).data["note"] == "YQ=="


async def test_a_new_authority_waits_until_the_api_server_trusts_it() -> None:
    clock = SetClock(START)
    async with pt.Cluster.embedded() as cluster:
        one = managed(cluster, clock=clock)
        await one.open()
        clock.now = START + timedelta(days=3000)
        assert await one.advance()
        state = one.state
        assert state.next is not None
        clock.now += timedelta(days=1)
        await one.advance()
        assert one.state.next == state.next, "nothing was registered with the new bundle"
        one.record_trusted(one.bundle)
        clock.now += timedelta(minutes=59)
        await one.advance()
        assert one.state.next == state.next
        clock.now += timedelta(minutes=1)
        await one.advance()
        assert one.state.next is None
        assert one.state.current == state.next
        assert one.bundle == state.bundle, "the old authority is still trusted"
        clock.now += timedelta(hours=1)
        await one.advance()
        assert one.bundle == state.next.certificate


@pytest.mark.virtual_time
async def test_a_check_that_fails_is_repeated() -> None:
    async with pt.Cluster.embedded() as cluster:
        source = managed(cluster)
        await source.open()
        await cluster.client.delete(Secret, "certificate", namespace="default")
        changed = asyncio.Event()
        running = asyncio.ensure_future(source.run(changed.set))
        await changed.wait()
        assert await cluster.client.find(Secret, "certificate", namespace="default") is not None
        running.cancel()


async def test_no_request_fails_during_a_rotation() -> None:
    """Requests without a pause, on a kept connection and on new ones, with the bundle that is registered then."""
    now = datetime.now(UTC)  # clients verify by the time of the machine, so the clock may not be far from it
    clock = SetClock(now - timedelta(hours=2))
    validity = Validity(timedelta(hours=3), timedelta(hours=2, minutes=30), overlap=timedelta(minutes=1))
    server = book_server(validity=validity, certificate_check_seconds=0.005)
    answered = 0
    some_more = asyncio.Condition()

    async def ask(cluster: pt.Cluster) -> None:
        nonlocal answered
        async with AsyncExitStack() as stack:
            kept = await stack.enter_async_context(https(server, await bundle_of(cluster)))
            while True:
                context = tls.client_context(ca_data=(await bundle_of(cluster)).decode())
                async with HTTPClient("127.0.0.1", server.address[1], ssl=context) as fresh:
                    for client in (kept, fresh):
                        assert (await post(client, review(object=book()))).status == 200
                        answered += 1
                async with some_more:
                    some_more.notify_all()

    async def stage(cluster: pt.Cluster, moment: datetime, authorities: int, leading: bytes) -> bytes:
        """Set the clock, and wait until the Secret has so many authorities and another one than `leading` signs."""
        clock.now = moment
        async with cluster.client.watch(Secret, namespace="default") as events:
            async for event in events:
                data = {key: base64.b64decode(value) for key, value in event.object.data.items()}
                if data["ca.crt"].count(b"BEGIN") == authorities and data["authority.crt"] != leading:
                    break
        until = answered + 6  # with this stage, of which the server and the configuration learn a moment later
        async with some_more:
            await some_more.wait_for(lambda: answered >= until)
        return data["authority.crt"]

    async with pt.Cluster.embedded() as cluster, started(server, cluster, clock):
        asking = asyncio.ensure_future(ask(cluster))
        first = await stage(cluster, clock.now, 1, b"")
        await stage(cluster, now + timedelta(seconds=1), 2, b"")
        second = await stage(cluster, now + timedelta(seconds=70), 2, first)
        third = await stage(cluster, now + timedelta(seconds=140), 1, first)
        asking.cancel()
        await asyncio.wait([asking])
        assert asking.cancelled(), asking.exception()
    assert second == third != first
