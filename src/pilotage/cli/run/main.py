"""`pt.run`: the command line of your own program, with the flags and the behaviour of `pilotage run`."""

from __future__ import annotations

import argparse
import inspect
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pilotage.cli.run.arguments import Flags, RunParser, add_arguments
from pilotage.errors import PilotageError
from pilotage.kit.console.help import HelpFormatter, examples

if TYPE_CHECKING:
    from pilotage.cli.program.target import Target
    from pilotage.manager.manager import Manager
    from pilotage.meta.models import Resource


def run(
    main: Callable[[Manager], object] | Sequence[Callable[[Manager], object]],
    *,
    kinds: Sequence[type[Resource]] | None = None,
    arguments: Sequence[str] | None = None,
) -> None:
    """Run a program until Ctrl-C or SIGTERM, by the flags and environment variables of `pilotage run`.

        if __name__ == "__main__":
            pt.run(setup)

    `main` is a function that is given a manager, async or not, or reconciler classes. `kinds` are those whose CRDs
    `--install` installs; by default the kinds of the module of `main` and of its package. `arguments` are the flags, by
    default the arguments of the process. Raises SystemExit with 1 after a failure, of which one line was printed, with
    2 for wrong flags, and with 130 after an interrupt.
    """
    from pilotage.cli.program.modules import refuse_program

    refuse_program()
    command = parser()
    try:
        flags = _flags(command, arguments)
    except PilotageError as error:
        print(f"{command.prog}: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    from pilotage.cli.program.project import program_name
    from pilotage.cli.run.execution import execute

    if code := execute(lambda: _target(main, kinds), flags, program_name(command.prog), command.prog):
        raise SystemExit(code)


def parser() -> argparse.ArgumentParser:
    """The parser of a program: the flags of `pilotage run`, without a target."""
    program = Path(sys.argv[0]).name
    if program == "__main__.py":  # python -m guestbook
        program = Path(sys.argv[0]).parent.name
    command = RunParser(
        prog=program,
        usage=f"{program} [-h] [OPTION ...]",
        description="Run this operator until Ctrl-C or SIGTERM. Each option can be set by an environment variable, "
        "PILOTAGE_ and its name (PILOTAGE_LOG_LEVEL); the option wins.",
        epilog=examples(f"{program} --storage memory: --until-idle", f"{program} --leader-elect --log-format json"),
        formatter_class=HelpFormatter,
    )
    add_arguments(command)
    return command


def _flags(command: argparse.ArgumentParser, arguments: Sequence[str] | None) -> Flags:
    from pilotage.cli.run.flags import flags_of

    return flags_of(command, command.parse_args(arguments), os.environ)


def _target(main: Any, kinds: Sequence[type[Resource]] | None) -> Target:
    from pilotage.cli.program.target import target_of

    first = main[0] if isinstance(main, Sequence) and main else main
    module = inspect.getmodule(first) or sys.modules["__main__"]
    file = Path(getattr(module, "__file__", None) or module.__name__).name
    name = f"{file}:{getattr(first, '__name__', type(first).__name__)}"
    target = target_of(name, module, main)
    return target if kinds is None else replace(target, kinds=tuple(kinds))
