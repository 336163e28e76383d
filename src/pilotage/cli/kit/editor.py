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
from contextlib import contextmanager
from pathlib import Path

from pilotage.cli.errors import CommandError


@contextmanager
def temporary_file(name: str, print_line: Callable[[str], None]) -> Iterator[Path]:
    """The path of a file that is deleted at the end. If a signal ends the block, it is kept, and its path printed."""
    folder = Path(tempfile.mkdtemp(prefix="edit-"))
    kept = False
    try:
        yield folder / name
    except (asyncio.CancelledError, KeyboardInterrupt):
        kept = True
        print_line(f"Edit interrupted, the file is kept: {folder / name}")
        raise
    finally:
        if not kept:
            shutil.rmtree(folder)


async def edit_text(file: Path, text: str) -> str:
    """What a user makes of a text in an editor. Its cancellation ends the editor, which keeps its own recovery file."""
    editor = os.environ.get("KUBE_EDITOR") or os.environ.get("EDITOR") or "vi"
    with _uninterrupted():
        process = _open(editor, file, text)
        try:
            code = await asyncio.to_thread(process.wait)  # watches and reconcilers go on in the meantime
        except asyncio.CancelledError:
            process.terminate()  # else it would go on in a terminal that is the shell's again
            raise
    if code != 0:
        raise CommandError(f"there was a problem with the editor {editor!r}: exit code {code}")
    return await asyncio.to_thread(file.read_text, encoding="utf-8")


def _open(editor: str, file: Path, text: str) -> subprocess.Popen[bytes]:
    file.write_text(text, encoding="utf-8")
    try:
        return subprocess.Popen([*shlex.split(editor), str(file)])  # noqa: S603 - the user's own editor
    except OSError as error:
        raise CommandError(f"unable to launch the editor {editor!r}: {error.strerror}; set EDITOR") from error


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A terminal sends SIGINT to the editor and to this process: here it is ignored. SIGTERM is for this process; if
    nothing handles it, it does what SIGINT does otherwise, so that the command does not end without a word."""
    previous = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or previous in (None, signal.SIG_IGN):
        yield
        return

    def ignore(number: int, frame: object) -> None:
        """Not SIG_IGN, which the editor would inherit."""

    def interrupt(number: int, frame: object) -> None:
        signal.signal(signal.SIGINT, previous)
        signal.raise_signal(signal.SIGINT)

    unhandled = signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    signal.signal(signal.SIGINT, ignore)
    if unhandled:
        signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is ignore:  # else a second SIGTERM has set what it takes to end at once
            signal.signal(signal.SIGINT, previous)
        if unhandled:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
