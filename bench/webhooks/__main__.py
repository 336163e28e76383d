"""`make bench-webhooks`: CPU time of a call in process and over TLS, beside controller-runtime; then a rotation."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import msgspec

import pilotage as pt
from bench.beside import ROOT, program
from bench.figures import Figure, cpu_of, measured_async
from bench.webhooks.reviews import MUTATING_PATH, PATH, declare, review
from bench.webhooks.rotation import rotate
from pilotage.http import certificates, tls
from pilotage.http.client import HTTPClient

CALLS = int(os.environ.get("BENCH_COUNT", "3000"))
ROTATION_SECONDS = float(os.environ.get("BENCH_ROTATION_SECONDS", "30"))
RATE = 200.0
IN_PROCESS, OVER_TLS = 150.0, 400.0
"""The most microseconds of CPU time that a call may take."""
JSON = (("Content-Type", "application/json"),)


async def in_process() -> list[Figure]:
    """Calls as the embedded API server makes them: the cost of the webhook, without that of the write."""
    figures = []
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        declare(manager)
        for path in (MUTATING_PATH, PATH):
            call = partial(manager.webhook_server.endpoint(path).local, review())
            await repeat(call, CALLS // 10)
            figures.append(await measured_async(f"in process, {path}", CALLS, partial(repeat, call, CALLS)))
    return figures


async def over_tls(name: str, port: int, bundle: str, pid: int) -> Figure:
    """Calls on a kept connection; the CPU time is that of the server."""
    body = msgspec.json.encode(review())
    async with HTTPClient("127.0.0.1", port, ssl=tls.client_context(ca_data=bundle)) as client:

        async def call() -> None:
            answer = await client.request("POST", f"{PATH}?timeout=10s", JSON, body)
            assert msgspec.json.decode(answer.body)["response"]["allowed"]

        await repeat(call, CALLS // 10)
        before = cpu_of(pid)
        figure = await measured_async(name, CALLS, partial(repeat, call, CALLS))
        return Figure(name, CALLS, figure.wall, cpu_of(pid) - before)


async def repeat(call: object, count: int) -> None:
    assert callable(call)
    for _ in range(count):
        await call()


@contextmanager
def our_server() -> Iterator[tuple[int, str, int]]:
    """Port, CA bundle and process of a webhook server of ours."""
    with subprocess.Popen([sys.executable, "-m", "bench.webhooks.served"], cwd=ROOT, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            yield said["port"], said["bundle"], process.pid
        finally:
            process.terminate()


@contextmanager
def their_server() -> Iterator[tuple[int, str, int] | None]:
    """The same of controller-runtime; None if it cannot be built here."""
    webhook = program("webhook")
    if webhook is None:
        yield None
        return
    certificate = certificates.self_signed("127.0.0.1")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "tls.crt").write_bytes(certificate.certificate)
        (Path(folder) / "tls.key").write_bytes(certificate.key)
        port = free_port()
        with subprocess.Popen([str(webhook), str(port), folder]) as process:
            try:
                yield port, certificate.certificate.decode(), process.pid
            finally:
                process.terminate()


def free_port() -> int:
    from pilotage.net.sockets import listen

    with listen("127.0.0.1", 0) as socket:
        return int(socket.getsockname()[1])


async def wait_for(port: int) -> None:
    while True:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
        else:
            writer.close()
            return


async def main() -> int:
    print(f"A webhook that accepts a ConfigMap of 2 KB, {CALLS:,} calls")
    figures = [(figure, IN_PROCESS) for figure in await in_process()]
    with our_server() as (port, bundle, pid):
        ours = await over_tls("over TLS, one connection, the server alone", port, bundle, pid)
    figures.append((ours, OVER_TLS))
    for figure, _ in figures:
        print(figure.line())
    with their_server() as found:
        if found is None:
            print("  controller-runtime: not measured, there is no Go to build it with")
        else:
            await wait_for(found[0])
            theirs = await over_tls("controller-runtime, the same", *found)
            print(theirs.line(), f"{ours.cpu_microseconds / theirs.cpu_microseconds:.2f} times its CPU time is ours")
    print(f"\nRotation of the authority every few seconds, {RATE:.0f} requests a second for {ROTATION_SECONDS:.0f} s")
    outcome = await rotate(ROTATION_SECONDS, RATE)
    print(f"  answered {outcome.answered:,}, failed {len(outcome.failed)}, CA bundles {len(outcome.bundles)}")
    broken = [
        f"{figure.name}: {figure.cpu_microseconds:.0f} us, the bound is {bound:.0f}"
        for figure, bound in figures
        if figure.cpu_microseconds > bound
    ]
    broken += outcome.failed[:5]
    for line in broken:
        print(f"  BROKEN: {line}")
    return 1 if broken else 0


sys.exit(asyncio.run(main()))
