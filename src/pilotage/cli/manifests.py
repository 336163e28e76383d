"""`pilotage manifests`: YAML for `kubectl apply`."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from pilotage.cli.errors import CommandError
from pilotage.cli.files import write_files
from pilotage.cli.help import examples


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        "manifests",
        help="generate manifests for kubectl apply",
        description="Generate the manifests of a device agent as YAML for kubectl apply: a DaemonSet of the Device API "
        "server with the NVML provider, a DaemonSet of an agent that uses it, and the agent's RBAC.",
        epilog=examples("pilotage manifests --device --image registry.example/pilotage:1 | kubectl apply -f -"),
    )
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("--device", action="store_true", help="generate the Device API server and its agent")
    command.add_argument(
        "-o",
        "--output-dir",
        type=Path,
        metavar="DIR",
        help="write one file per component into DIR instead of standard output",
    )
    command.add_argument(
        "--image",
        default="pilotage:latest",
        help="the image of the server, with pilotage[device,nvml] installed (default: %(default)s)",
    )
    command.add_argument("--agent-image", default="", metavar="IMAGE", help="the image of the agent (default: --image)")
    command.add_argument(
        "--agent-command",
        default="python /agent/gpu_agent.py",
        metavar="COMMAND",
        help="the command of the agent container (default: %(default)s)",
    )
    command.add_argument(
        "--namespace",
        default="device-api",
        type=_name,
        help="the namespace of all objects; generated too, except default and kube-system (default: %(default)s)",
    )
    command.add_argument(
        "--name", default="device-api", type=_name, help="the prefix of all names (default: %(default)s)"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the manifests and return the exit code."""
    from pilotage.cli.device.manifests import DeviceManifests, documents

    manifests = DeviceManifests(
        name=options.name,
        namespace=options.namespace,
        image=options.image,
        agent_image=options.agent_image,
        agent_command=_words(options.agent_command),
    )
    files = manifests.files()
    if options.output_dir is None:
        sys.stdout.write(documents([obj for objects in files.values() for obj in objects]))
    else:
        write_files(options.output_dir, {name: documents(objects) for name, objects in files.items()})
    return 0


def _name(text: str) -> str:
    from pilotage.meta.names import dns_1123_label

    if problems := dns_1123_label(text) or ([] if len(text) <= 40 else ["must be no more than 40 characters"]):
        raise argparse.ArgumentTypeError(f"{text!r} {problems[0]}")
    return text


def _words(command: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise CommandError(f"--agent-command {command!r} cannot be parsed: {error}") from error
    if not words:
        raise CommandError("--agent-command is empty: give the command of the agent container")
    return words
