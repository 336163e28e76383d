"""The Unix sockets by which programs of one user reach each other: `PID-NAME.sock` in a folder of this user alone.

A socket is created under a temporary name, and renamed when it listens: a socket of the final name that refuses
connections belongs to a process that has ended, and is removed.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from pilotage.errors import PilotageError

LONGEST = 107
"""Bytes of the path of a Unix socket; the kernel's 108 include a terminating zero."""
MOST = 1000
"""Sockets that are looked at."""
_NAME = re.compile(r"(\d{1,10})-([A-Za-z0-9._-]{1,40})\.sock")
_BACKLOG = 16
_PROBE_SECONDS = 1.0


class LocalSocketUnavailable(PilotageError):
    """The socket, or the folder of the sockets, cannot be used. The message has the reason and what to do."""


class LocalSocket(NamedTuple):
    """The socket of a running program."""

    path: str
    pid: int
    name: str

    def __str__(self) -> str:
        return f"{self.name} (pid {self.pid})"


@contextmanager
def listening(name: str) -> Iterator[socket.socket]:
    """A socket of this process that listens under a name, which is removed when the block ends. Raises
    LocalSocketUnavailable."""
    shown = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[:40] or "program"
    try:
        place = os.path.join(_created_folder(), f"{os.getpid()}-{shown}.sock")
        listener = _bound(place)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise LocalSocketUnavailable(f"cannot create a Unix socket: {error.strerror or error}{where}") from error
    with listener:
        made = os.lstat(place)
        try:
            yield listener
        finally:
            with suppress(OSError):
                if os.path.samestat(os.lstat(place), made):
                    os.unlink(place)


def running() -> list[LocalSocket]:
    """The sockets of this user's running programs. Those of processes that have ended are removed. Raises
    LocalSocketUnavailable."""
    found = []
    for folder in _folders():
        if os.path.lexists(folder):
            _check(folder)
            found += [
                one for name in sorted(os.listdir(folder))[:MOST] if (one := _live_socket(folder, name)) is not None
            ]
    return found


def _live_socket(folder: str, name: str) -> LocalSocket | None:
    """The socket with this name, if a process listens on it. Else it is removed."""
    parts, path = _NAME.fullmatch(name), os.path.join(folder, name)
    if parts is None or not _is_own_socket(path):
        return None
    if _is_live(path):
        return LocalSocket(path, int(parts[1]), parts[2])
    with suppress(OSError):
        os.unlink(path)
    return None


def _folders() -> list[str]:
    """Where the sockets of this user may be, the usual place first. A shell of another session, such as cron's, may
    have no XDG_RUNTIME_DIR; after `sudo` it may be the folder of another user."""
    chosen = os.environ.get("XDG_RUNTIME_DIR", "")
    own = [os.path.join(chosen, "pilotage")] if os.path.isabs(chosen) and _is_own_folder(chosen) else []
    return [*own, os.path.join(tempfile.gettempdir(), f"pilotage-{os.geteuid()}")]


def _created_folder() -> str:
    path = _folders()[0]
    with suppress(FileExistsError):
        os.mkdir(path, 0o700)
    _check(path)
    return path


def _check(path: str) -> None:
    """Refuse a folder that another user could change."""
    info = os.lstat(path)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid():
        raise LocalSocketUnavailable(
            f"{path} is not a folder of uid {os.geteuid()}, so another user could read or replace the sockets in it: "
            "remove it, or set XDG_RUNTIME_DIR to a folder of your own"
        )
    if stat.S_IMODE(info.st_mode) != 0o700:
        os.chmod(path, 0o700)


def _is_own_folder(path: str) -> bool:
    try:
        info = os.stat(path)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o022


def _is_own_socket(path: str) -> bool:
    try:
        info = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISSOCK(info.st_mode) and info.st_uid == os.geteuid()


def _is_live(path: str) -> bool:
    """Whether a process listens on a socket. Only a refused connection means that none does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_SECONDS)
        try:
            probe.connect(path)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True  # its queue is full
    return True


def _bound(place: str) -> socket.socket:
    """A socket that listens at a place, which only its owner can open."""
    temporary = f"{place}~"
    if (length := len(os.fsencode(temporary))) > LONGEST:
        raise LocalSocketUnavailable(
            f"the path of the Unix socket, {place}, has {length} bytes, and the limit is {LONGEST}: set "
            "XDG_RUNTIME_DIR to a folder with a shorter path"
        )
    with suppress(FileNotFoundError):
        os.unlink(temporary)  # of a process that was killed and had this pid
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.setblocking(False)
        listener.bind(temporary)  # in a folder that only its owner can enter, whatever the umask is
        os.chmod(temporary, 0o600)
        listener.listen(_BACKLOG)
        os.rename(temporary, place)
    except BaseException:
        listener.close()
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return listener
