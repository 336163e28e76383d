"""`pilotage manifests --device`: the manifests of a device agent."""

from __future__ import annotations

import argparse
import shlex
import sys

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import write_files
from pilotage.kit.console.flags import add_switch, add_value

DEFAULT = "device-api"
"""The default name, and the default namespace."""
IMAGE = "pilotage:latest"


def add_arguments(group: argparse._ArgumentGroup) -> None:
    """Add the options of device agents."""
    add_switch(
        group,
        "--device",
        "generate a DaemonSet of the Device API server with the NVML provider, a DaemonSet of an agent that uses "
        "it, and the agent's RBAC, instead of the manifests of a program",
    )
    add_value(group, "--agent-image", "IMAGE", "the image of the agent (default: --image)")
    add_value(
        group,
        "--agent-command",
        "COMMAND",
        "the command of the agent container (default: %(default)s)",
        "python /agent/gpu_agent.py",
    )


def run(options: argparse.Namespace) -> int:
    """Write the manifests and return the exit code."""
    from pilotage.cli.manifests.daemonsets import DeviceManifests
    from pilotage.meta.text import yamltext

    manifests = DeviceManifests(
        name=_short(options.name or DEFAULT),
        namespace=_short(options.namespace or DEFAULT),
        image=options.image or IMAGE,
        agent_image=options.agent_image,
        agent_command=_words(options.agent_command),
    )
    files = manifests.files()
    if options.output is None:
        sys.stdout.write(yamltext.write_all([each for documents in files.values() for each in documents]))
    else:
        write_files(options.output, {name: yamltext.write_all(documents) for name, documents in files.items()})
    return 0


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
