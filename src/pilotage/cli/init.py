"""`pilotage init`: a new project."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

from pilotage.kit.console.flags import add_switch
from pilotage.kit.console.help import add_command


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "init",
        "start a project",
        "Write the files of a new operator: pyproject.toml, package, tests, Makefile, Dockerfile, CI. "
        "Existing files stay as they are.",
        "pilotage init guestbook --domain example.com && cd guestbook && pilotage create api Guestbook",
        run=run,
    )
    command.add_argument("folder", nargs="?", default=Path(), type=Path, metavar="FOLDER", help="where (default: here)")
    command.add_argument("--name", default="", help="the name of the project (default: the name of the folder)")
    command.add_argument("--package", default="", help="the Python package (default: the name, with underscores)")
    group = command.add_mutually_exclusive_group()
    group.add_argument("--group", default="", help="the API group of its kinds (default: NAME.DOMAIN)")
    group.add_argument("--domain", default="", help="the domain in the API group (default: example.com)")
    add_switch(command, "--dry-run", "print the changes as a diff, and write nothing")


def run(options: argparse.Namespace) -> int:
    """Write the project and return the exit code."""
    from pilotage.cli.scaffold.changes import finish
    from pilotage.cli.scaffold.init import init_changes, new_project

    project = new_project(options.folder, options.name, options.package, options.group, options.domain)
    changes = init_changes(options.folder, project)
    steps = [f"cd {shlex.quote(str(options.folder))}"] if options.folder.resolve() != Path.cwd() else []
    return finish(changes, options.dry_run, [*steps, "make setup test", "pilotage create api Guestbook"])
