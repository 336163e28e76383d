"""Runs one command: opens its storage or server, loads its module, and turns errors into messages and exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from importlib import import_module

from pilotage.errors import PilotageError
from pilotage.kit.arguments.planning import DIRECT, LIGHT, is_dry_run, only_reads, plan
from pilotage.kit.console.errors import INTERRUPTED, CommandError, Interrupted
from pilotage.kit.console.process import rarely_collected

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Protocol

    from pilotage.kit.arguments import Command
    from pilotage.kit.arguments.planning import Facts, Plan
    from pilotage.kit.console.signals.deadline import ExitDeadline
    from pilotage.kit.session import CommandSession

    CommandFunction = Callable[[CommandSession, argparse.Namespace], Awaitable[int]]
else:
    Protocol = object


class CommandBackend(Protocol):
    """Where commands work: the storage of a tool, or what `pilotage` was given."""

    ends_process: bool
    """Whether the process ends with the command."""

    def facts(self, options: argparse.Namespace) -> Facts:
        """What is known of the place without opening it. Raises CommandError."""

    def print_stored(self, plan: Plan, options: argparse.Namespace) -> int | None:
        """Print what is in the file. None, and nothing is printed, if it takes more."""

    def perform_now(self, plan: Plan, options: argparse.Namespace) -> int | None:
        """Run a command without an event loop, which takes longer to load than most commands take. None if it needs
        one."""

    async def perform(self, plan: Plan, options: argparse.Namespace, deadline: ExitDeadline) -> int:
        """Open a session, run the command on it, and return its exit code. After a signal, it ends by the deadline."""


def execute(place: CommandBackend, command: Command, options: argparse.Namespace) -> int:
    """Run a command; the exit code. Errors are lines on standard error."""
    with rarely_collected(ends_process=place.ends_process):
        return _execute(place, command, options)


def _execute(place: CommandBackend, command: Command, options: argparse.Namespace) -> int:
    try:
        chosen = plan(command, options, place.facts(options))
        for route in chosen.routes:
            code = None
            if route == DIRECT:
                code = place.print_stored(chosen, options)
            elif route == LIGHT:
                code = place.perform_now(chosen, options)
            if code is not None:
                return code
        import asyncio

        from pilotage.kit.console.exhaustion import guarded
        from pilotage.kit.console.signals.deadline import ExitDeadline

        _check_no_loop()
        with ExitDeadline(INTERRUPTED) as deadline, without_storage_log():
            return asyncio.run(guarded(place.perform(chosen, options, deadline)))
    except KeyboardInterrupt:
        from pilotage.kit.console.terminal import standard_error
        from pilotage.kit.exits import print_error

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


def checked_function(command: Command, options: argparse.Namespace) -> CommandFunction:
    """The coroutine function of a command, which has checked its arguments and read its files: for a mistake in them
    nothing is opened or started. Raises CommandError."""
    module: Any = import_module(f"pilotage.kit.commands.{command.module}")
    check = getattr(module, "check", None)
    if check is not None:
        check(options)
    run: CommandFunction = module.run
    return run
