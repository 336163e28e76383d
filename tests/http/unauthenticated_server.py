"""A TLS server in one process and its attacker in another; prints what a known client got meanwhile, as JSON."""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import resource
import socket
import ssl
import sys
from multiprocessing.connection import Connection

from pilotage.http.client import HTTPClient
from pilotage.http.messages import Headers, HTTPRequest, HTTPResponse, Peer
from pilotage.http.server import serve
from pilotage.http.tls import client_context, server_context

ASKED = 20
HALF = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 60000\r\n\r\n" + b"x" * 59_000


def authenticate(headers: Headers, peer: Peer) -> bool:
    return headers.get("authorization") == "Bearer secret"


async def answer(request: HTTPRequest) -> HTTPResponse:
    return HTTPResponse(200, body=b"ok")


async def main(scenario: str, total: str, cert: str, key: str, ca: str) -> None:
    ours, theirs = multiprocessing.Pipe()
    attacker = multiprocessing.get_context("spawn").Process(
        target=attack, args=(theirs, scenario, int(total), ca), daemon=True
    )
    attacker.start()
    if scenario == "descriptors":
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    loop = asyncio.get_running_loop()
    async with serve(answer, ssl=server_context(cert, key), authenticate=authenticate) as server:
        before = resident()
        ours.send(server.port)
        served, grown = 0, 0.0
        for _ in range(ASKED):
            await loop.run_in_executor(None, ours.recv)  # more attackers are connected now
            async with HTTPClient(*server.address, ssl=client_context(ca)) as newcomer:
                response = await newcomer.request("GET", "/", [("Authorization", "Bearer secret")])
                served += response.status == 200
            grown = max(grown, resident() - before)
            ours.send("go on")
        attacked = await loop.run_in_executor(None, ours.recv)
    print(json.dumps({"attacked": attacked, "asked": ASKED, "served": served, "grown_mib": grown}))


def attack(pipe: Connection, scenario: str, total: int, ca: str) -> None:
    port = pipe.recv()
    context = client_context(ca)
    held: list[socket.socket] = []
    for turn in range(ASKED):
        for _ in range(total // ASKED):
            connection = socket.create_connection(("127.0.0.1", port))
            held.append(connection)
            if scenario == "half-bodies":
                with contextlib.suppress(OSError):
                    held[-1] = context.wrap_socket(connection, server_hostname="127.0.0.1")
                    held[-1].sendall(HALF)
        pipe.send(turn)
        pipe.recv()
    pipe.send(len(held))


def resident() -> float:
    """The resident memory of this process, in MiB."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / (1 << 20)


if __name__ == "__main__":
    assert ssl.HAS_TLSv1_3
    asyncio.run(main(*sys.argv[1:]))
