"""Runs one command: plans it, takes the first route that can run it, and turns errors into messages and exit codes."""

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
    from pilotage.kit.arguments.flags import Arguments
    from pilotage.kit.arguments.planning import Facts, Plan
    from pilotage.kit.kinds import Visible
    from pilotage.kit.routes.embedded import Setup
    from pilotage.kit.session import CommandSession
    from pilotage.meta.kinds import GroupKind
    from pilotage.meta.models import Resource

    CommandFunction = Callable[[CommandSession, Any], Awaitable[int]]
    """A command with its own options."""
else:
    Protocol = object


class Program(Protocol):
    """What commands belong to: a tool, or `pilotage`. Plans are opened for it."""

    @property
    def name(self) -> str:
        """The manager of the fields that it writes, unless an option names another one."""

    @property
    def namespace(self) -> str:
        """The namespace of commands without one."""

    @property
    def setup(self) -> Setup | None:
        """Adds its reconcilers and webhooks to a manager."""

    @property
    def audit(self) -> tuple[str, str]:
        """The file of its audit log, and the file of the policy; empty: there is no log."""

    @property
    def ends_process(self) -> bool:
        """Whether the process ends with the command."""

    def facts(self, options: Arguments) -> Facts:
        """What is known of the place without opening it. Raises CommandError."""

    @property
    def visible(self) -> Visible | None:
        """What its tables need of its kinds, without importing any; None if that is not known."""

    @property
    def own_kinds(self) -> tuple[type[Resource], ...]:
        """The kinds that it installs."""

    @property
    def shown(self) -> frozenset[GroupKind] | None:
        """The kinds that its commands may name; None: all that are served."""


def execute(program: Program, command: Command, parsed: argparse.Namespace) -> int:
    """Run a command; the exit code. Errors are lines on standard error."""
    with rarely_collected(ends_process=program.ends_process):
        return _execute(program, command, command.typed(parsed))


def _execute(program: Program, command: Command, options: Arguments) -> int:
    try:
        chosen = plan(command, options, program.facts(options))
        for route in chosen.routes:
            code = _on_route(route, chosen, program, options)
            if code is not None:
                return code
        raise AssertionError("the last route can run every command")
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


def _on_route(route: str, plan: Plan, program: Program, options: Arguments) -> int | None:
    """Run a command on a route; None, and nothing is printed or written, if it takes another one."""
    if route == DIRECT:
        visible = program.visible
        if visible is None:
            return None
        from pilotage.kit import direct
        from pilotage.kit.arguments.reads import GetArguments

        assert isinstance(options, GetArguments), "no other command is answered from stored bytes"
        return direct.get(plan.where, options.namespace or program.namespace, visible, options)
    if route == LIGHT:
        from pilotage.kit.routes import light

        return light.performed(plan, program, options)
    import asyncio

    from pilotage.kit.console.exhaustion import guarded
    from pilotage.kit.console.signals.deadline import ExitDeadline
    from pilotage.kit.routes import opening

    check_no_loop()
    with ExitDeadline(INTERRUPTED) as deadline, without_storage_log():
        return asyncio.run(guarded(opening.performed(plan, program, options, deadline)))


def check_no_loop() -> None:
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
    """Keep Python from printing the log of the storage where no log is configured: its errors are errors of the
    command, which are printed once."""
    import logging

    handler, log = logging.NullHandler(), logging.getLogger("pilotage.storage")
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)


UNFINISHED = "interrupted before the command was finished: not everything may be written, run it again"


def checked_function(command: Command, options: Arguments) -> CommandFunction:
    """The coroutine function of a command, which has checked its arguments and read its files: for a mistake in them
    nothing is opened or started. Raises CommandError."""
    module: Any = import_module(f"pilotage.kit.commands.{command.module}")
    check = getattr(module, "check", None)
    if check is not None:
        check(options)
    run: CommandFunction = module.run
    return run
