"""`pilotage dev`: the inner loop of a program: it runs on an API server in this process, and each save shows what the
code now writes differently."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from pilotage.cli.dev.options import DevOptions
from pilotage.kit.console.flags.fields import add_flags
from pilotage.kit.console.help import add_command


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "dev",
        "run an operator while you write it, and show what each save changes",
        "Run an operator on an API server in this process until Ctrl-C, with samples, the live page and simulated "
        "workloads. When one of its files is saved, the new code takes over: all objects are reconciled, and what it "
        "now writes differently is shown, object by object and field by field. If the new code cannot be loaded, one "
        "line says why, and the old code continues. TARGET is that of `pilotage run`; without it, that of the project.",
        "pilotage dev",
        "pilotage dev greetings.py -f world.yaml",
        "pilotage dev --storage sqlite:dev.db --serve 127.0.0.1:6443",
        run=run,
    )
    command.add_argument(
        "target", nargs="?", metavar="TARGET", help="the program: MODULE, FILE.py, MODULE:NAME or FILE.py:NAME"
    )
    add_flags(command, DevOptions)


def run(options: argparse.Namespace) -> int:
    """Run until Ctrl-C, and return the exit code."""
    import asyncio

    from pilotage.cli.dev.options import run_flags
    from pilotage.cli.dev.session import Session
    from pilotage.cli.program.project import chosen_target, program_name
    from pilotage.cli.run.arguments import variable
    from pilotage.cli.run.execution import configure
    from pilotage.kit.console.exhaustion import guarded
    from pilotage.kit.console.flags.fields import options_of
    from pilotage.kit.console.terminal import standard_error

    chosen = options_of(DevOptions, options)
    text, project = chosen_target(options.target or os.environ.get(variable("target"), ""), Path.cwd())
    name = project.name if project is not None else program_name(text)
    flags, terminal = run_flags(chosen, Path.cwd() if project is None else project.root), standard_error()
    configure(flags, terminal)
    asyncio.run(guarded(Session(text, name, chosen, flags, terminal).run()))
    return 0
