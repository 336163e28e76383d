"""`pilotage manifests --device`: the manifests of a device agent."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import write_files
from pilotage.kit.console.flags import add_switch, add_value

if TYPE_CHECKING:
    from pilotage.cli.manifests.settings import InstallationSettings

DEFAULT = "device-api"
"""The default name, and the default namespace."""
IMAGE = "pilotage:latest"


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options of device agents."""
    add_switch(
        group,
        "--device",
        "generate a DaemonSet of the Device API server with the NVML provider, a DaemonSet of an agent that uses "
        "it, and the agent's RBAC, instead of a Deployment. The agent is the program TARGET, or the program of the "
        "project; without both, the command of --agent-command with the roles of an agent that taints its Node",
    )
    add_value(
        group, "--agent-image", "IMAGE", "the image of the agent (default: the image of the project, else --image)"
    )
    add_value(
        group,
        "--agent-command",
        "COMMAND",
        "the command of the agent container (default: pilotage run TARGET; without a program, python "
        "/agent/gpu_agent.py)",
        None,
    )


def run(options: argparse.Namespace) -> int:
    """Write the manifests and return the exit code."""
    from pilotage.cli.manifests.daemonsets import DeviceManifests
    from pilotage.cli.program.project import find_project
    from pilotage.meta.text import yamltext

    project = find_project(Path.cwd())
    program = _program(options) if options.target or project is not None else None
    manifests = DeviceManifests(
        name=_short(program.name if program else options.name or DEFAULT),
        namespace=_short(program.namespace if program else options.namespace or DEFAULT),
        image=options.image or IMAGE,
        agent_image=options.agent_image or (project.image if project else ""),
        agent_command=() if options.agent_command is None else _words(options.agent_command),
        program=program,
    )
    files = manifests.files()
    if options.output is None:
        sys.stdout.write(yamltext.write_all([each for documents in files.values() for each in documents]))
    else:
        write_files(options.output, {name: yamltext.write_all(documents) for name, documents in files.items()})
    return 0


def _program(options: argparse.Namespace) -> InstallationSettings:
    """The agent: the program runs on each node, so no leader is elected. Raises CommandError for one with webhooks."""
    from pilotage.cli.manifests import program_settings

    options.leader_elect = False
    program = program_settings(options, "")
    if program.has_webhooks:
        raise CommandError(
            f"{program.target} has webhooks, which an agent on each node cannot serve: deploy them as a program of "
            "their own, with pilotage manifests"
        )
    return program


def _short(name: str) -> str:
    """A name that is short enough for the suffixes that are added to it."""
    if len(name) > 40:
        raise CommandError(f"{name!r} must be no more than 40 characters")
    return name


def _words(command: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise CommandError(f"--agent-command {command!r} cannot be parsed: {error}") from error
    if not words:
        raise CommandError("--agent-command is empty: give the command of the agent container")
    return words
