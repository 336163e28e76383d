"""The program's side of `--reload`: it reports its files to the process that started it, and ends with it."""

from __future__ import annotations

import os
import signal
import socket
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pilotage

VARIABLE = "PILOTAGE_RELOAD_CHANNEL"
"""The file descriptor of the socket to the parent: the process that has it is the program."""


def channel_to_parent() -> socket.socket | None:
    """The socket to the parent; None if this process is not one that `supervise` has started."""
    number = os.environ.pop(VARIABLE, "")  # not for processes that the program starts
    if not number.isdigit():
        return None
    channel = socket.socket(fileno=int(number))
    channel.set_inheritable(False)
    threading.Thread(target=_end_with_parent, args=(channel,), name="pilotage reload", daemon=True).start()
    return channel


def _end_with_parent(channel: socket.socket) -> None:
    with suppress(OSError):
        while channel.recv(1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def reported(channel: socket.socket | None, more: Iterable[Path] = ()) -> Iterator[None]:
    """Report the files of the program, and `more`, to the parent when the block ends, also if it fails. Without a
    parent: nothing."""
    failed: BaseException | None = None
    try:
        yield
    except BaseException as error:
        failed = error
        raise
    finally:
        if channel is not None:
            with suppress(OSError):
                files = program_files(failed) | {str(path.absolute()) for path in more}
                channel.sendall(b"".join(os.fsencode(file) + b"\n" for file in sorted(files)))


def program_files(failed: BaseException | None = None) -> set[str]:
    """The files of the modules that are loaded, without the files of Python, of installed packages and of Pilotage.

    An error of an import adds the files in it, since a module that cannot be imported is not loaded.
    """
    files = {getattr(module, "__file__", None) or "" for module in list(sys.modules.values())}
    while failed is not None:
        if isinstance(failed, SyntaxError):
            files.add(failed.filename or "")
        trace = failed.__traceback__
        while trace is not None:
            files.add(trace.tb_frame.f_code.co_filename)
            trace = trace.tb_next
        failed = failed.__cause__
    foreign = _foreign_folders()
    found = {os.path.join(os.getcwd(), file) for file in files if file.endswith(".py")}
    return {file for file in found if not file.startswith(foreign) and os.path.isfile(file)}


def _foreign_folders() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [*(sysconfig.get_path(name) for name in names), str(Path(pilotage.__file__).parent)]
    return tuple(f"{folder}{os.sep}" for folder in folders)
