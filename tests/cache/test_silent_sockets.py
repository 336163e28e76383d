"""Sockets on which nothing arrives any more, in real time: closed after 75 s, or after 45 s if TCP gets no answer."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from pilotage.http.server import serve

from .silent_client import following, seconds_until_dead, until
from .silent_server import Silent

pytestmark = [pytest.mark.long]


@pytest.mark.covers("F10")
async def test_a_watch_without_events_on_a_live_server_is_closed_after_75_seconds() -> None:
    server = Silent()
    async with serve(server) as running, following(f"http://127.0.0.1:{running.port}") as informer:
        assert 61 < await seconds_until_dead(informer) <= 150  # longer than the minute between two bookmarks
        async with asyncio.timeout(60):
            await until(lambda: server.watches == 2 and informer.live)  # red, then green again on a new watch


class Hosts:
    """Two network namespaces joined by a cable, 198.51.100.1 and 198.51.100.2."""

    def __init__(self, here: str, there: str) -> None:
        self._here, self._there = here, there

    @contextmanager
    def running(self, host: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        name = self._here if host == "here" else self._there
        command = ["ip", "netns", "exec", name, sys.executable, "-m", *arguments]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(100)
            process.stdout.close()

    def cut(self) -> None:
        """Disconnect the far end: what is sent from here is lost without an error."""
        ip(f"-n {self._there} link set veth0 down")


def ip(arguments: str) -> None:
    ran = subprocess.run(["ip", *arguments.split()], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        pytest.skip(f"no network namespaces here: ip {arguments}: {ran.stderr.strip()}")


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    names = [f"pilotage-{secrets.token_hex(3)}" for _ in range(2)]
    try:
        for name in names:
            ip(f"netns add {name}")
        ip(f"-n {names[0]} link add veth0 type veth peer name veth0 netns {names[1]}")
        for name, address in zip(names, ("198.51.100.1/30", "198.51.100.2/30"), strict=True):
            ip(f"-n {name} addr add {address} dev veth0")
            ip(f"-n {name} link set veth0 up")
        yield Hosts(*names)
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


@pytest.mark.covers("F10")
def test_a_peer_that_acknowledges_nothing_is_left_after_45_seconds(hosts: Hosts) -> None:
    with hosts.running("there", "tests.cache.silent_server", "198.51.100.2") as server:
        assert server.stdout is not None
        url = f"http://198.51.100.2:{server.stdout.readline().strip()}"
        with hosts.running("here", "tests.cache.silent_client", url) as client:
            assert client.stdout is not None
            assert client.stdout.readline() == "live\n"
            hosts.cut()
            assert float(client.stdout.readline()) <= 65  # not by the 75 seconds of silence
