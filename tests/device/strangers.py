"""Programs that run as another user: the kernel decides what they may do, and a process of that user shows it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from .. import forked

NOBODY = 65534

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a program as another user")

_BECOME = "import os, socket, sys; os.setgroups({groups}); os.setgid({gid}); os.setuid({uid})\n"

_CONNECT = """
with socket.socket(socket.AF_UNIX) as client:
    try:
        client.connect(sys.argv[1])
    except OSError as error:
        print(type(error).__name__)
    else:
        print("connected")
"""


_CALL = """
from pilotage import device
from pilotage.device.v1alpha1 import GPU
from pilotage.errors import PilotageError
import asyncio

async def call(method, target):
    async with device.connect(target) as devices:
        gpus = devices.v1alpha1.gpus
        try:
            match method:
                case "list":
                    return len(await gpus.list())
                case "watch":
                    async with gpus.watch() as events:
                        return (await anext(events)).type
                case "delete":
                    return await gpus.delete("gpu-1")
                case "heartbeat":
                    return await gpus.heartbeat(["gpu-1"])
        except PilotageError as error:
            return type(error).__name__

async def calls(target, *methods):
    first = await asyncio.gather(*(call(method, target) for method in methods[:-1]))
    return [*first, await call(methods[-1], target)]

asyncio.run(call("list", sys.argv[1]))  # loads all that is needed, as long as it can be read
"""


def run_as(
    uid: int, program: str, *arguments: str, gid: int | None = None, groups: Sequence[int] = (), before: str = ""
) -> str:
    """What a Python program prints that runs as another user. It may use `os`, `socket` and `sys`; `before` is run as
    ourselves."""
    # The interpreter may lie where the other user cannot read: it is started as ourselves, and then becomes the other.
    become = _BECOME.format(uid=uid, gid=uid if gid is None else gid, groups=list(groups))
    ran = forked.run("-c", f"import sys\n{before}\n{become}\n{program}", *arguments)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


def connect_as(uid: int, path: str, *, gid: int | None = None, groups: Sequence[int] = ()) -> str:
    """`connected`, or the name of the error."""
    return run_as(uid, _CONNECT, path, gid=gid, groups=groups)


def calls_as(uid: int, path: Path, *, gid: int | None = None, groups: Sequence[int] = ()) -> dict[str, str]:
    """The results of calls to a Device API server: the answers, or the names of the errors."""
    methods = ("list", "watch", "heartbeat", "delete")
    program = f"print(*asyncio.run(calls(sys.argv[1], *{methods})))"
    said = run_as(uid, program, f"unix://{path}", gid=gid, groups=groups, before=_CALL)
    return dict(zip(methods, said.split(), strict=True))


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that every user can read, unlike pytest's own, and only we can change."""
    with tempfile.TemporaryDirectory(prefix="pilotage-") as name:
        os.chmod(name, 0o755)
        yield Path(name)
