"""The Unix socket that a server listens on. It is created with its final mode, and one server at a time owns its path.

The server locks the file `<path>.lock` while it runs. The owner of the lock replaces a stale socket atomically, so that
a client finds either the old socket or the new one. The lock file is not removed at the end: otherwise two servers
could lock two files of the same name.
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
"""Bytes of the path of a Unix socket; the kernel's 108 include a terminating zero."""

_BACKLOG = 128
_PROBE_SECONDS = 1.0


class SocketUnavailable(PilotageError):
    """The socket cannot be created. The message has the reason and what to do."""


@contextmanager
def listen(
    path: str, *, mode: int = 0o660, directory_mode: int = 0o750, group: int | None = None
) -> Iterator[socket.socket]:
    """A listening socket at `path`, which is removed when the block ends. Raises SocketUnavailable.

    A missing directory is created with `directory_mode`; both get `group`, if given. The path of the socket may not be
    a symbolic link, and only a stale socket of this user or root is replaced.
    """
    _check_path(path)
    with ExitStack() as stack:
        try:
            directory = _directory(os.path.dirname(os.path.abspath(path)), directory_mode, group)
            target = os.path.join(directory, os.path.basename(path))
            stack.enter_context(_locked(f"{target}.lock", path))
            _check_replaceable(target)
            listening = stack.enter_context(_bound(target, mode, group))
        except OSError as error:
            where = f" ({error.filename})" if error.filename else ""
            raise SocketUnavailable(f"cannot listen on {path}: {error.strerror or error}{where}") from error
        yield listening


def _check_path(path: str) -> None:
    length = len(os.fsencode(path))
    if length > LONGEST:
        raise SocketUnavailable(
            f"the socket path {path[:200]} has {length} bytes, and the limit is {LONGEST}: use a shorter path"
        )
    if "\0" in path or os.path.basename(path) in ("", ".", ".."):
        raise SocketUnavailable(f"invalid socket path {path!r}: it must be a file in a directory")


def _directory(path: str, mode: int, group: int | None) -> str:
    """The real path of the directory, created if missing. Refused if other users may change it."""
    if not os.path.lexists(path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with suppress(FileExistsError):
            _make_directory(path, mode, group)
    directory = os.path.realpath(path)
    info = os.stat(directory)
    if not stat.S_ISDIR(info.st_mode):
        raise SocketUnavailable(f"cannot create a socket in {path}: not a directory")
    if info.st_uid not in _trusted():
        raise SocketUnavailable(
            f"the directory {path} belongs to uid {info.st_uid}, who could replace the socket: "
            f"change its owner to uid {os.geteuid()} or root, or use another directory"
        )
    _check_writers(directory)
    return directory


def _make_directory(path: str, mode: int, group: int | None) -> None:
    os.mkdir(path, 0o700)
    if group is not None:
        os.chown(path, -1, group, follow_symlinks=False)
    os.chmod(path, mode)  # whatever the umask is


def _check_writers(directory: str) -> None:
    """Refuse a path with a world-writable directory, unless it has the sticky bit, as /tmp has."""
    while True:
        mode = os.stat(directory).st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            raise SocketUnavailable(
                f"the directory {directory} is world-writable, so any user could replace the socket: "
                f"run chmod o-w {directory}, or use another directory"
            )
        above = os.path.dirname(directory)
        if above == directory:
            return
        directory = above


def _trusted() -> tuple[int, int]:
    return os.geteuid(), 0


@contextmanager
def _locked(lock: str, path: str) -> Iterator[None]:
    """Lock the file for the length of the block. Raises SocketUnavailable with the pid of the owner."""
    descriptor = _open_lock(lock)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(descriptor, 20, 0).decode("ascii", "replace").strip()
            raise SocketUnavailable(
                f"another server already listens on {path} (pid {holder or 'unknown'}): stop it, or use another path"
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)  # also if a forked child still has the file open
    finally:
        os.close(descriptor)


def _open_lock(lock: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(lock, flags, 0o600)
    except OSError as error:
        raise SocketUnavailable(
            f"cannot open the lock file {lock}: {error.strerror}; uid {os.geteuid()} must own it and be "
            "able to write to its directory"
        ) from error
    info = os.fstat(descriptor)
    # The pid is written to it: it must not be a link to another file, nor a file of another user.
    if stat.S_ISREG(info.st_mode) and info.st_nlink == 1 and info.st_uid in _trusted():
        return descriptor
    os.close(descriptor)
    raise SocketUnavailable(
        f"the lock file {lock} is not safe: it must be a regular file of uid {os.geteuid()} or root with one link; "
        "check which process created it, then remove it"
    )


def _check_replaceable(target: str) -> None:
    """Raises SocketUnavailable unless the path is free or a stale socket of this user or root."""
    try:
        info = os.lstat(target)
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(info.st_mode):
        what = "a symbolic link" if stat.S_ISLNK(info.st_mode) else "not a socket"
        raise SocketUnavailable(f"{target} is {what} and is not replaced: remove it, or use another path")
    if info.st_uid not in _trusted():
        raise SocketUnavailable(
            f"{target} is a socket of uid {info.st_uid} and is not replaced: check its owner, then remove it"
        )
    if _is_live(target):
        raise SocketUnavailable(f"another server listens on {target} without its lock: stop it, or use another path")


def _is_live(target: str) -> bool:
    """Whether a process listens on a socket. Only a refused connection means that none does."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(_PROBE_SECONDS)
        try:
            with _address(target) as address:
                probe.connect(address)
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True  # its queue is full, it has another type, or access is denied
    return True


@contextmanager
def _bound(target: str, mode: int, group: int | None) -> Iterator[socket.socket]:
    """A socket that listens under a temporary name until its mode is set, and is then renamed."""
    temporary = f"{target}~"
    _check_replaceable(temporary)
    with suppress(FileNotFoundError):
        os.unlink(temporary)  # of a server that was killed before the rename; its lock is ours now
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.setblocking(False)
        _bind(listening, temporary)
        try:
            if group is not None:
                os.chown(temporary, -1, group, follow_symlinks=False)
            os.chmod(temporary, mode)
            listening.listen(_BACKLOG)
            made = os.lstat(temporary)
            os.rename(temporary, target)
        except BaseException:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        try:
            yield listening
        finally:
            _remove(target, made)


def _bind(listening: socket.socket, target: str) -> None:
    before = os.umask(0o177)  # bind creates the file: only its owner may use it until its mode is set
    try:
        with _address(target) as address:
            listening.bind(address)
    finally:
        os.umask(before)


@contextmanager
def _address(target: str) -> Iterator[str]:
    """A path within the kernel's limit, even if the real path is longer."""
    if len(os.fsencode(target)) <= LONGEST:
        yield target
        return
    directory = os.open(os.path.dirname(target), os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{directory}/{os.path.basename(target)}"
    finally:
        os.close(directory)


def _remove(target: str, made: os.stat_result) -> None:
    """Remove the socket, unless it was replaced by another one."""
    with suppress(OSError):
        found = os.lstat(target)
        if (found.st_dev, found.st_ino, found.st_mtime_ns) == (made.st_dev, made.st_ino, made.st_mtime_ns):
            os.unlink(target)
