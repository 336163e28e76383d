"""`pilotage run`: runs the program of a user on an API server in this process, or on a cluster."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from pilotage.cli.run.arguments import RunParser, add_arguments, variable
from pilotage.kit.console.help import add_command


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "run",
        "run an operator, on an API server in this process or on a cluster",
        "Run an operator until Ctrl-C or SIGTERM. TARGET is a module (guestbook.operator) or a file "
        "(greetings.py), whose function setup(manager), or else all reconciler classes, are run; or a name in it "
        "(greetings.py:start): a function that is given a manager, reconciler classes, or a manager. Without "
        "TARGET it is the target of the project, [tool.pilotage] in pyproject.toml. Each option can be set by an "
        "environment variable, PILOTAGE_ and its name (PILOTAGE_LOG_LEVEL); the option wins.",
        "pilotage run greetings.py --storage memory: -f objects.yaml --until-idle",
        "pilotage run greetings.py --storage sqlite:demo.db --serve 127.0.0.1:6443 --reload",
        "pilotage run greetings.py --storage memory: --ui",
        "pilotage run guestbook.operator --kubeconfig ~/.kube/config --install",
        "pilotage run guestbook.operator --leader-elect --metrics-bind-address :8080 --log-format json",
        parser_class=RunParser,
        usage="pilotage run [-h] [OPTION ...] [TARGET]",
    )
    command.add_argument(
        "target", nargs="?", metavar="TARGET", help="the program: MODULE, FILE.py, MODULE:NAME or FILE.py:NAME"
    )
    add_arguments(command)
    command.set_defaults(run=lambda options: run(command, options))


def run(command: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Run the program and return the exit code."""
    from pilotage.cli.program.project import chosen_target, program_name
    from pilotage.cli.program.target import load_target
    from pilotage.cli.run.execution import execute
    from pilotage.cli.run.flags import flags_of

    flags = flags_of(command, options, os.environ)
    text, project = chosen_target(options.target or os.environ.get(variable("target"), ""), Path.cwd())
    name = project.name if project is not None else program_name(text)
    return execute(lambda: load_target(text), flags, name)
