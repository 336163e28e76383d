"""The Unix socket that a server listens on: nobody else takes its place, and nobody looks in before its mode is set.

Beside the socket lies a lock file, `<path>.lock`, held for as long as the server runs. Whoever holds it owns the path:
what an earlier server left there is replaced in one step, so that a client finds the old socket or the new one. The
lock file stays when the server ends: to remove it would let two servers hold two locks of one name.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from pilotage.errors import PilotageError

LONGEST = 107
"""Bytes in the path of a Unix socket: the kernel has room for one more, the zero at the end."""

_BACKLOG = 128
_PROBE_SECONDS = 1.0


class SocketUnavailable(PilotageError):
    """No socket can be made at the path: the message says why, and what to do."""


@contextmanager
def listen(
    path: str, *, mode: int = 0o660, directory_mode: int = 0o750, group: int | None = None
) -> Iterator[socket.socket]:
    """A listening socket at `path`, which is removed when the block ends. Raises SocketUnavailable.

    A directory that is missing is made with `directory_mode`; both get `group`, where one is given. No symbolic link
    is followed to the socket, and nothing is replaced but a socket of ours (or root's) that nobody listens on.
    """
    _check_path(path)
    with ExitStack() as stack:
        try:
            directory = _directory(os.path.dirname(os.path.abspath(path)), directory_mode, group)
            place = os.path.join(directory, os.path.basename(path))
            stack.enter_context(_locked(f"{place}.lock", path))
            _check_replaceable(place)
            listening = stack.enter_context(_bound(place, mode, group))
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            raise SocketUnavailable(f"cannot listen on {path}: {error.strerror or error}{where}") from error
        yield listening


def _check_path(path: str) -> None:
    length = len(os.fsencode(path))
    if length > LONGEST:
        raise SocketUnavailable(
            f"the socket's path {path[:200]} has {length} bytes and may have {LONGEST}: choose a shorter one"
        )
    if "\0" in path or os.path.basename(path) in ("", ".", ".."):
        raise SocketUnavailable(f"{path!r} is not the path of a socket: name a file in a directory")


def _directory(path: str, mode: int, group: int | None) -> str:
    """The directory without symbolic links in its path, made if it is missing. Refused where others may change it."""
    if not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with suppress(FileExistsError):
            _make_directory(path, mode, group)
    directory = os.path.realpath(path)
    info = os.stat(directory)
    if not stat.S_ISDIR(info.st_mode):
        raise SocketUnavailable(f"{path} is not a directory: no socket can be made in it")
    if info.st_uid not in _trusted():
        raise SocketUnavailable(
            f"the directory {path} belongs to uid {info.st_uid}, who could put another socket in the place of ours: "
            f"give it to uid {os.geteuid()} or root, or choose another"
        )
    _check_writers(directory)
    return directory


def _make_directory(path: str, mode: int, group: int | None) -> None:
    os.mkdir(path, 0o700)
    if group is not None:
        os.chown(path, -1, group, follow_symlinks=False)
    os.chmod(path, mode)  # whatever the umask is


def _check_writers(directory: str) -> None:
    """Refuse a path that everybody can change. With the sticky bit, as on /tmp, they can change what is theirs."""
    while True:
        mode = os.stat(directory).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise SocketUnavailable(
                f"everybody may write to the directory {directory}, and so put another socket in the place of ours: "
                f"chmod o-w {directory}, or choose another"
            )
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _trusted() -> tuple[int, int]:
    return os.geteuid(), 0


@contextmanager
def _locked(lock: str, path: str) -> Iterator[None]:
    """Hold the lock file, or say who does."""
    descriptor = _open_lock(lock)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            raise SocketUnavailable(
                f"another server listens on {path} already (pid {holder or 'unknown'}): stop it, or choose another path"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # also where a child that forked from us has the file open still
    finally:
        os.close(descriptor)


def _open_lock(lock: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(lock, flags, 0o600)
    except OSError as error:
        raise SocketUnavailable(
            f"the lock file {lock} cannot be opened: {error.strerror}; uid {os.geteuid()} must be able to write in its "
            "directory, and the file must be that user's own"
        ) from error
    info = os.fstat(descriptor)
    # It is about to be written to: it must not be somebody's file under another name, nor a file of somebody's making.
    if stat.S_ISREG(info.st_mode) and info.st_nlink == 1 and info.st_uid in _trusted():
        return descriptor
    os.close(descriptor)
    raise SocketUnavailable(
        f"the lock file {lock} is not ours: it has to be a plain file of uid {os.geteuid()} or root, without other "
        "names; see who put it there, then remove it"
    )


def _check_replaceable(place: str) -> None:
    """Refuse whatever is at the place, but a socket of ours that nobody listens on."""
    try:
        info = os.lstat(place)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(info.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(info.st_mode) else "no socket"
        raise SocketUnavailable(f"{place} is {what}, and is left alone: remove it, or choose another path")
    if info.st_uid not in _trusted():
        raise SocketUnavailable(
            f"{place} is a socket of uid {info.st_uid}, and is left alone: see who made it, then remove it"
        )
    if _is_live(place):
        raise SocketUnavailable(
            f"another server listens on {place} (it does not hold the lock): stop it, or choose another path"
        )


def _is_live(place: str) -> bool:
    """Whether somebody listens on a socket. Only a clear refusal says that nobody does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_SECONDS)
        try:
            with _address(place) as address:
                probe.connect(address)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True  # its queue is full, or it is not of our type, or we may not connect
    return True


@contextmanager
def _bound(place: str, mode: int, group: int | None) -> Iterator[socket.socket]:
    """A socket that listens under another name until it is as it should be, and then takes its place."""
    temporary = f"{place}~"
    _check_replaceable(temporary)
    with suppress(FileNotFoundError):
        os.unlink(temporary)  # of a server that was killed at the wrong moment: we hold its lock
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.setblocking(False)
        _bind(listening, temporary)
        try:
            if group is not None:
                os.chown(temporary, -1, group, follow_symlinks=False)
            os.chmod(temporary, mode)
            listening.listen(_BACKLOG)
            made = os.lstat(temporary)
            os.rename(temporary, place)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        try:
            yield listening
        finally:
            _remove(place, made)


def _bind(listening: socket.socket, place: str) -> None:
    before = os.umask(0o177)  # bind makes the file: it is its owner's alone from the first moment
    try:
        with _address(place) as address:
            listening.bind(address)
    finally:
        os.umask(before)


@contextmanager
def _address(place: str) -> Iterator[str]:
    """A path that the kernel has room for, also where symbolic links led to a long one."""
    if len(os.fsencode(place)) <= LONGEST:
        yield place
        return
    directory = os.open(os.path.dirname(place), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{os.path.basename(place)}"
    finally:
        os.close(directory)


def _remove(place: str, made: os.stat_result) -> None:
    """Remove the socket, unless it is another one by now."""
    with suppress(OSError):
        found = os.lstat(place)
        if (found.st_dev, found.st_ino, found.st_mtime_ns) == (made.st_dev, made.st_ino, made.st_mtime_ns):
            os.unlink(place)
