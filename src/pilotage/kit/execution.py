"""Runs one command: opens its storage or server, loads its module, and turns errors into messages and exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

from pilotage.errors import PilotageError
from pilotage.kit.console.collection import rarely_collected
from pilotage.kit.console.errors import INTERRUPTED, CommandError, Interrupted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from pilotage.kit.arguments import Command
    from pilotage.kit.console.signals.deadline import ExitDeadline
    from pilotage.kit.session import CommandSession

    CommandFunction = Callable[[CommandSession, argparse.Namespace], Awaitable[int]]
else:
    Protocol = object


class CommandBackend(Protocol):
    """Where commands work: the storage of a tool, or what `pilotage` was given."""

    ends_process: bool
    """Whether the process ends with the command."""

    def storage_of(self, options: argparse.Namespace) -> str:
        """The URL of the storage; empty for a server."""

    async def perform(self, command: Command, options: argparse.Namespace, deadline: ExitDeadline) -> int:
        """Open a session, run the command on it, and return its exit code. After a signal, it ends by the deadline."""

    def perform_now(self, command: Command, options: argparse.Namespace) -> int | None:
        """The same without an event loop, which takes longer to load than most commands take; None if it needs one."""


def execute(place: CommandBackend, command: Command, options: argparse.Namespace) -> int:
    """Run a command; the exit code. Errors are lines on standard error."""
    with rarely_collected(ends_process=place.ends_process):
        return _execute(place, command, options)


def _execute(place: CommandBackend, command: Command, options: argparse.Namespace) -> int:
    try:
        code = place.perform_now(command, options)
        if code is not None:
            return code
        import asyncio

        from pilotage.kit.console.exhaustion import guarded
        from pilotage.kit.console.signals.deadline import ExitDeadline

        _check_no_loop()
        with ExitDeadline(INTERRUPTED) as deadline, without_storage_log():
            return asyncio.run(guarded(place.perform(command, options, deadline)))
    except KeyboardInterrupt:
        from pilotage.kit.console.terminal import standard_error
        from pilotage.kit.exits import print_error
        from pilotage.kit.printers.written import is_dry_run, only_reads

        if (terminal := standard_error()).isatty():
            terminal.line()  # after the ^C that the terminal shows
        if command.writes and not (is_dry_run(options) or only_reads(options)):
            print_error(Interrupted(UNFINISHED))
        return INTERRUPTED
    except PilotageError as error:
        from pilotage.kit.exits import code_of, print_error

        print_error(error)
        return max(command.least_failure, code_of(error))


def _check_no_loop() -> None:
    """Refuse a running event loop: a command needs one of its own. Raises CommandError."""
    from asyncio import get_running_loop

    try:
        get_running_loop()
    except RuntimeError:
        return
    raise CommandError(
        "a command cannot run in a coroutine, because it has an event loop of its own: run it in a thread, with "
        "`await asyncio.to_thread(tool.run, words)`"
    )


@contextmanager
def without_storage_log() -> Iterator[None]:
    """Keep Python from printing the log of the storage where no log is configured: its errors are those of the command,
    which are printed once."""
    import logging

    handler, log = logging.NullHandler(), logging.getLogger("pilotage.storage")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


UNFINISHED = "interrupted before the command was finished: not everything may be written, run it again"
_LIGHT = {
    *("get", "describe", "explain", "api-resources", "names"),
    *("create", "apply", "diff", "replace", "patch", "scale", "delete", "label", "annotate"),
}
"""Commands that need no event loop, unless they wait or reconcilers run."""
_SHARED = {"annotate": "label"}
"""Commands that are in the module of another one."""


def checked_function(command: Command, options: argparse.Namespace) -> CommandFunction:
    """The coroutine function of a command, which has checked its arguments and read its files: for a mistake in them
    nothing is opened or started. Raises CommandError."""
    name = _SHARED.get(command.name) or command.name.replace("-", "")
    module: Any = import_module(f"pilotage.kit.commands.{name}")
    check = getattr(module, "check", None)
    if check is not None:
        check(options)
    run: CommandFunction = module.run
    return run


def is_light(command: Command, options: argparse.Namespace, url: str) -> bool:
    """Whether a command needs no event loop if no reconciler runs: the storage is a file, and nothing is waited for."""
    if not url.startswith("sqlite:") or url == "sqlite:" or watches(options):
        return False
    if command.name in ("delete", "replace"):  # they wait until an object is deleted
        return not (options.wait if command.name == "delete" else options.recreate)
    return command.name in _LIGHT


def watches(options: argparse.Namespace) -> bool:
    """Whether a command prints changes until it is ended."""
    return bool(getattr(options, "watch", False) or getattr(options, "watch_only", False))
