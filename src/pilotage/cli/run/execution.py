"""Runs a program by its flags: logging, one process or several, reloading, and errors of the user as one line."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Callable
from contextlib import nullcontext

from pilotage.cli.program.modules import user_places
from pilotage.cli.program.target import Target
from pilotage.cli.run.arguments import Flags
from pilotage.cli.run.explaining import explained, is_detailed
from pilotage.cli.run.objects import watched_files
from pilotage.cli.run.program import Program
from pilotage.cli.run.reloaded import channel_to_parent, reported
from pilotage.cli.run.reloader import supervise
from pilotage.cli.run.traces import exported_traces
from pilotage.errors import PilotageError
from pilotage.kit.console.errors import FAILED, INTERRUPTED, NOT_RECONCILED, CommandError, Interrupted, NotReconciled
from pilotage.kit.console.exhaustion import guarded
from pilotage.kit.console.process import OUT_OF_MEMORY, is_exhaustion
from pilotage.kit.console.signals.deadline import ExitDeadline, exit_after_program
from pilotage.kit.console.signals.interruption import Interruption
from pilotage.kit.console.terminal import BOLD, RED, Terminal, standard_error
from pilotage.manager.processes.child import process_number
from pilotage.manager.processes.parent import ProcessFailed, run_processes
from pilotage.telemetry.console import ConsoleFormatter
from pilotage.telemetry.lines import JSONFormatter, LineFormatter
from pilotage.telemetry.logs import configure_logging, logger

log = logger("pilotage.run")


def execute(load: Callable[[], Target], flags: Flags, name: str, command: str = "pilotage") -> int:
    """Load the target and run it; the exit code. `name` is the program's, for its Leases, and `command` begins the line
    of an error."""
    terminal = standard_error()
    if flags.processes is not None:
        terminal.animated = False  # one spinner for each process would be shown
    terminal.shows_progress = flags.log_format != "json"
    try:
        configure(flags, terminal)
        channel = channel_to_parent() if flags.reload else None
        if flags.reload and channel is None:
            return asyncio.run(supervise(terminal, flags.graceful_shutdown_timeout))
        with reported(channel, watched_files(flags.filename)):
            target = load()
        with exported_traces(flags.otlp, name) if flags.otlp else nullcontext():
            return _run(Program(target, flags, terminal, name), command)
    except KeyboardInterrupt:
        exit_after_program(INTERRUPTED)
        return INTERRUPTED
    except Exception as error:
        report(error, flags, terminal, command)
        return FAILED


def _run(program: Program, command: str) -> int:
    flags = program.flags
    if flags.processes is None:
        with ExitDeadline(FAILED) as deadline:
            program.interruption = interruption = _interruption(program, command, deadline)
            code = asyncio.run(_exit_code(program, command))
        if interruption.signalled:
            exit_after_program(code)
        return code

    async def main() -> None:
        # Not in a block: each process waits for its threads, too, after this function.
        program.interruption = _interruption(program, command, ExitDeadline(FAILED))
        code = await _exit_code(program, command)
        if program.interruption.signalled:
            exit_after_program(code)
        if code:
            raise SystemExit(code)

    try:
        run_processes(
            main,
            flags.processes,
            metrics_bind_address=flags.metrics_bind_address,
            health_probe_bind_address=flags.health_probe_bind_address,
        )
    except ProcessFailed as error:  # which has reported its error itself
        raise CommandError(str(error)) from None
    return 0


def _interruption(program: Program, command: str, deadline: ExitDeadline) -> Interruption:
    flags, terminal = program.flags, program.terminal
    return Interruption(
        deadline,
        lambda message: log.warning(message, **_process()),
        lambda message: report(CommandError(message), flags, terminal, command),
    )


def _process() -> dict[str, int]:
    """The field of the log for the number of this process, if it is one of several: another thread has no context."""
    return {"process": number} if (number := process_number()) else {}


async def _exit_code(program: Program, command: str) -> int:
    try:
        await guarded(program.run())
    except Interrupted:
        return INTERRUPTED
    except Exception as error:
        report(_explained(error, program.target.name), program.flags, program.terminal, command)
        if program.interruption is not None:
            program.interruption.is_reported = True
        return NOT_RECONCILED if isinstance(error, NotReconciled) else FAILED
    return 0


def _explained(error: Exception, name: str) -> Exception:
    """An error of the program while it runs, in one line with the place in its files."""
    if isinstance(error, ExceptionGroup):
        return _explained(error.exceptions[0], name)
    if isinstance(error, PilotageError) or is_exhaustion(error):
        return error
    places = user_places(error)
    explained = CommandError(f"{name} failed: {type(error).__name__}: {error}" + (f" ({places[-1]})" if places else ""))
    explained.__cause__ = error
    return explained


def report(error: Exception, flags: Flags, terminal: Terminal, command: str) -> None:
    """One line for the error; in JSON, if the log is; and its traceback, if that was asked for."""
    if is_exhaustion(error):
        error = CommandError(OUT_OF_MEMORY)
    detailed = is_detailed(flags)
    if flags.log_format == "json":
        exception = {"exception": "".join(traceback.format_exception(error))} if detailed else {}
        log.error(str(error), **exception, **_process())
        return
    if detailed:
        terminal.write("".join(traceback.format_exception(error)))
    process = f"process {number}: " if (number := process_number()) else ""
    terminal.line(f"{terminal.styled(f'{command}:', BOLD, RED)} {process}{error}")


def configure(flags: Flags, terminal: Terminal) -> None:
    """Send the log to the terminal: columns for people, else plain lines; JSON if asked for."""
    detailed = is_detailed(flags)
    is_terminal = terminal.isatty()
    formatter: logging.Formatter = LineFormatter(tracebacks=detailed)
    if flags.log_format == "json":
        formatter = JSONFormatter(tracebacks=detailed)
    elif is_terminal or terminal.colours or explained(flags, is_terminal=is_terminal) is not None:
        formatter = ConsoleFormatter(colours=terminal.colours, tracebacks=detailed)
    try:
        configure_logging(flags.log_level, terminal, formatter=formatter)
    except ValueError as error:  # PILOTAGE_LOG_LEVELS
        raise CommandError(str(error)) from error
