"""How `pilotage serve` stops: watches end at once, requests are answered, and a second Ctrl-C waits for nothing."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
from pathlib import Path

from pilotage.types.core.v1 import ConfigMap

from .processes import serving

PATIENT = """
import pilotage.http.server as server
from pilotage.http.limits import HTTPLimits
server.HTTPLimits = lambda: HTTPLimits(grace_seconds=3600)
"""
"""A server that waits for running requests longer than any test does."""

SLOW = """
import asyncio
from pilotage.server.http.handler import HTTPHandler

async def never(self, incoming):
    print("asked", flush=True)
    await asyncio.Event().wait()

HTTPHandler.__call__ = never
"""
"""A server that does not answer requests."""


async def test_an_open_watch_ends_properly_and_does_not_keep_it_from_stopping(tmp_path: Path) -> None:
    with serving(tmp_path, before=PATIENT) as running:
        async with running.cluster() as cluster, asyncio.timeout(60):
            async with cluster.client.watch(ConfigMap, namespace="default", labels={"a": "b"}) as events:
                running.process.send_signal(signal.SIGINT)
                assert [event async for event in events] == []
            assert await asyncio.to_thread(running.process.wait) == 0


def test_a_silent_client_does_not_delay_the_stop(tmp_path: Path) -> None:
    with serving(tmp_path, before=PATIENT) as running:
        host, _, port = running.bind.partition(":")
        with socket.create_connection((host, int(port))):
            running.process.send_signal(signal.SIGTERM)
            assert running.process.wait(60) == 0


def test_a_request_that_runs_is_waited_for_until_a_second_signal(tmp_path: Path) -> None:
    unverified = ssl.create_default_context()
    unverified.check_hostname, unverified.verify_mode = False, ssl.CERT_NONE
    with serving(tmp_path, before=PATIENT + SLOW) as running:
        assert running.process.stdout is not None
        host, _, port = running.bind.partition(":")
        with (
            socket.create_connection((host, int(port))) as plain,
            unverified.wrap_socket(plain) as client,
        ):
            client.sendall(b"GET /version HTTP/1.1\r\nHost: h\r\n\r\n")
            assert running.process.stdout.readline() == "asked\n"
            running.process.send_signal(signal.SIGINT)
            assert running.process.stdout.readline() == "stopping\n"
            assert running.process.poll() is None
            running.process.send_signal(signal.SIGINT)
            assert running.process.wait(60) == 0
            assert client.recv(100) == b""
