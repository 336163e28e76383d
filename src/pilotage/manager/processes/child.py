"""The side of a process that was started as one of several: it answers requests of its parent, and ends with it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import threading
from collections.abc import Callable, Coroutine
from typing import Any

from pilotage.manager.processes import aggregation
from pilotage.manager.supervision.probes import clear_probes, registered_probes
from pilotage.telemetry import process
from pilotage.telemetry.logs import log_context
from pilotage.telemetry.metrics import REGISTRY

Main = Callable[[], Coroutine[Any, Any, Any]]

_number = 0
LENGTH = struct.Struct(">I")
YES, NO = b"\x01", b"\x00"


def process_number() -> int:
    """The number of this process among several, from 1; 0 if it is the only one."""
    return _number


def run(main: Main, number: int, channel: socket.socket, others: list[socket.socket]) -> None:
    """Run the program, as the process `number`. `channel` leads to the parent; `others` belong to other processes."""
    global _number
    _number = number
    for other in others:
        other.close()  # otherwise this process would not notice the end of the parent
    os.setpgrp()  # a Ctrl-C goes to the parent, which passes it on
    clear_probes()
    process.register()
    threading.Thread(target=_answer, args=(channel,), name="pilotage parent", daemon=True).start()
    with log_context(process=number):
        try:
            asyncio.run(main())
        except KeyboardInterrupt:  # the last Ctrl-C of the user; multiprocessing would print a traceback
            raise SystemExit(128 + signal.SIGINT) from None


def _answer(channel: socket.socket) -> None:
    """Answer the parent until it ends; then this process must end, too."""
    try:
        while asked := channel.recv(1):
            answer = _ANSWERS[asked]()
            channel.sendall(LENGTH.pack(len(answer)) + answer)
    except OSError:
        pass
    os.kill(os.getpid(), signal.SIGTERM)


def _probed(path: str) -> bytes:
    probes = registered_probes()
    if not probes:
        return YES if path == "healthz" else NO  # no manager is open yet
    return YES if all(probe(path) for probe in probes) else NO


METRICS, HEALTHZ, READYZ = b"m", b"h", b"r"
_ANSWERS: dict[bytes, Callable[[], bytes]] = {
    METRICS: lambda: aggregation.encode(REGISTRY),
    HEALTHZ: lambda: _probed("healthz"),
    READYZ: lambda: _probed("readyz"),
}
