"""`pilotage ui`: the live page beside a running program."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from pilotage.cli.why import chosen_processes
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags import add_value
from pilotage.kit.console.flags.types import bind_address, count
from pilotage.kit.console.help import add_command

if TYPE_CHECKING:
    from pilotage.http.client import HTTPClient

_LOCAL = "127.0.0.1:0"

_ADVICE = (
    "A program that starts its Manager itself serves its own page with "
    'ManagerOptions(ui_bind_address="127.0.0.1:0"): `manager.ui_url` is the address'
)
"""For a program that was not found."""


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "ui",
        "show what a running program does, in the browser",
        "Serve the live page of a program that runs already, on this machine alone, and print its address. "
        "`pilotage run` is found by itself; the page asks it over a Unix socket that only its user can open. "
        "`pilotage run --ui` serves the same page from the program.",
        "pilotage ui",
        "pilotage ui --pid 4711 --bind 127.0.0.1:8080",
        "pilotage ui --socket /run/user/1000/pilotage/4711-greetings.sock",
    )
    add_value(command, "--pid", "PID", "the program with this process id", None, type=count)
    add_value(command, "--socket", "PATH", "the Unix socket of the program", "")
    add_value(
        command,
        "--bind",
        "ADDR",
        "where the page is served, HOST:PORT (default: any free port)",
        _LOCAL,
        type=bind_address,
    )
    command.set_defaults(run=ui)


def ui(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C."""
    import asyncio

    from pilotage.net.sockets import is_loopback, parse_bind_address

    bind = parse_bind_address(options.bind)
    if bind is None or not is_loopback(bind[0]):
        raise CommandError(
            f"--bind {options.bind} is reached from other machines, and the page shows objects: give 127.0.0.1:PORT"
        )
    if options.socket and options.pid is not None:
        raise CommandError("--pid and --socket both choose a program: give one")
    asyncio.run(serve(options.socket or _path(options.pid), options.bind))
    return 0


async def serve(path: str, bind: str) -> None:
    """Serve the page of the program with this socket until cancelled."""
    from pilotage.dashboard.beside import Beside
    from pilotage.dashboard.server import PageServer
    from pilotage.errors import ConnectionLost
    from pilotage.kit.console.terminal import standard_error

    async with _client(path) as client:
        try:
            answer = await client.request("GET", "/ui/api/overview")
        except ConnectionLost as error:
            raise CommandError(f"cannot ask the program at {path}: {error}") from error
        if answer.status != 200:
            raise CommandError(
                f"the program at {path} has no live page: it runs another version of Pilotage; start it again"
            )
        server = PageServer(Beside(client), bind)
        await server.open()
        standard_error().line(f"Live page: {server.url}")
        await server.start()


def _client(path: str) -> HTTPClient:
    from pilotage.http.client import HTTPClient
    from pilotage.http.connector import ServerRoute

    return HTTPClient("localhost", 80, route=ServerRoute(socket_path=path))


def _path(pid: int | None) -> str:
    """The socket of the program that is chosen. Raises CommandError."""
    found = chosen_processes(pid, _ADVICE)
    if len(found) > 1:
        shown = ", ".join(map(str, found))
        raise CommandError(f"this program has {len(found)} processes: {shown}; choose one with --pid")
    return found[0].path
