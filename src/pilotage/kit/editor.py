"""The user's editor. Ctrl-C while it is open is a key of the editor, and what the user has written is not lost."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import reported


class EditedFile:
    """A file in a folder of its own, where editors keep what was not saved."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._first: str | None = None

    @property
    def has_changes(self) -> bool:
        """Whether the folder has anything that is not a copy of the object: a changed file, or one for recovery."""
        if not self.path.exists():
            return False
        return len(list(self.path.parent.iterdir())) > 1 or self.path.read_bytes() != (self._first or "").encode()

    def write(self, text: str) -> None:
        """Raises CommandError."""
        if self._first is None:
            self._first = text
        new = self.path.with_name(f"{self.path.name}.new")
        with reported(f"cannot write {self.path}"):  # on a full disk, the file has the last changes still
            new.write_text(text, encoding="utf-8")
            new.replace(self.path)

    def read(self) -> str:
        """Raises CommandError."""
        with reported(f"cannot read {self.path}"):
            try:
                return self.path.read_text(encoding="utf-8")
            except UnicodeDecodeError as error:
                raise CommandError(f"cannot read {self.path}: {error}") from error


@contextmanager
def temporary_file(name: str, print_line: Callable[[str], None]) -> Iterator[EditedFile]:
    """A file that is deleted at the end. If a signal or an error ends the block, what the user has written is kept, and
    its path printed."""
    with reported("cannot create a temporary folder"):
        folder = Path(tempfile.mkdtemp(prefix="edit-"))
    file, message = EditedFile(folder / name), ""
    try:
        yield file
    except (asyncio.CancelledError, KeyboardInterrupt):
        message = f"Edit interrupted, the file is kept: {file.path}"
        raise
    except Exception:
        message = f"A copy of your changes has been stored to {file.path}" if file.has_changes else ""
        raise
    finally:
        if not message:
            shutil.rmtree(folder, ignore_errors=True)  # the editor may have removed it
        else:
            with suppress(OSError):  # the terminal may be closed
                print_line(message)


async def edit_text(file: EditedFile, text: str) -> str:
    """Open a text in the user's editor; returns the edited text. Cancellation ends the editor, which keeps its own
    recovery file."""
    editor = os.environ.get("KUBE_EDITOR") or os.environ.get("EDITOR") or "vi"
    with _uninterrupted():
        process = _open(editor, file, text)
        try:
            code = await asyncio.to_thread(process.wait)  # watches and reconcilers continue in the meantime
        except asyncio.CancelledError:
            process.terminate()  # otherwise it would keep running in a terminal that the shell uses again
            raise
    if code != 0:
        how = f"exit code {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"
        raise CommandError(f"there was a problem with the editor {editor!r}: {how}")
    return await asyncio.to_thread(file.read)


def _open(editor: str, file: EditedFile, text: str) -> subprocess.Popen[bytes]:
    file.write(text)
    try:
        return subprocess.Popen([*shlex.split(editor), str(file.path)])  # noqa: S603 - the user's own editor
    except ValueError as error:
        raise CommandError(f"the editor {editor!r} is not a valid command: {error}; set EDITOR") from error
    except OSError as error:
        raise CommandError(f"unable to launch the editor {editor!r}: {error.strerror}; set EDITOR") from error


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A terminal sends SIGINT to the editor and to this process: here it is ignored. SIGTERM and SIGHUP, of a terminal
    that is closed, are for this process; if nothing handles them, they do what SIGINT does otherwise, so that the
    command does not end without a message."""
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or previous in (None, signal.SIG_IGN):
        yield
        return

    def ignore(number: int, frame: object) -> None:
        """Not SIG_IGN, which the editor would inherit."""

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, previous)
        signal.raise_signal(signal.SIGINT)

    unhandled = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) is signal.SIG_DFL]
    signal.signal(signal.SIGINT, ignore)
    for each in unhandled:
        signal.signal(each, interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is ignore:  # else a second SIGTERM has set what it takes to end at once
            signal.signal(signal.SIGINT, previous)
        for each in unhandled:
            signal.signal(each, signal.SIG_DFL)
