"""The process that envtest starts as kube-apiserver: the embedded API server over HTTPS, in memory, until SIGTERM."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping, Sequence

from pilotage.cli.assets.flags import parsed
from pilotage.errors import PilotageError
from pilotage.net.sockets import listen

_NAME = "kube-apiserver (pilotage):"


def main(arguments: Sequence[str], environment: Mapping[str, str] = os.environ) -> int:
    """Serve until SIGTERM or SIGINT, and return the exit code.

    The socket listens before the API server is imported: a client that connects meanwhile waits, and does not have to
    try again, which envtest does ten times a second.
    """
    try:
        flags = parsed(arguments)
        listener = _listener(flags.values)
    except (ValueError, OSError, PilotageError) as error:
        return _failed(error)
    if flags.without_effect:
        print(_NAME, "no effect:", ", ".join(f"--{name}" for name in flags.without_effect), file=sys.stderr, flush=True)
    import asyncio

    from pilotage.cli.assets.serving import serve

    try:
        asyncio.run(serve(listener, flags.values, environment))
    except PilotageError as error:
        return _failed(error)
    return 0


def _listener(values: Mapping[str, str]) -> socket.socket:
    host = values.get("bind-address", "0.0.0.0")  # noqa: S104 - the default of kube-apiserver
    return listen("" if host in ("0.0.0.0", "::") else host, int(values.get("secure-port", "6443")))  # noqa: S104


def _failed(error: Exception) -> int:
    print(_NAME, error, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
