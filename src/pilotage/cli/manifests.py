"""`pilotage manifests`: what to apply to a cluster."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from pilotage.cli.errors import CommandError


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        "manifests",
        help="write manifests for kubectl apply",
        description="Write the manifests of a device agent as YAML, for kubectl apply: a DaemonSet of the Device API "
        "server with the NVML provider, a DaemonSet of an agent that uses it, and the agent's rights.",
        epilog="example: pilotage manifests --device --image registry.example/pilotage:1 | kubectl apply -f -",
    )
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("--device", action="store_true", help="the Device API server and its agent")
    command.add_argument(
        "-o", "--output-dir", type=Path, metavar="DIR", help="write the files into DIR, instead of standard output"
    )
    command.add_argument(
        "--image",
        default="pilotage:latest",
        help="the image of the server, with pilotage[device,nvml] in it (default: %(default)s)",
    )
    command.add_argument("--agent-image", default="", metavar="IMAGE", help="the image of the agent (default: --image)")
    command.add_argument(
        "--agent-command",
        default="python /agent/gpu_agent.py",
        metavar="COMMAND",
        help="what starts the agent in its image (default: %(default)s)",
    )
    command.add_argument(
        "--namespace",
        default="device-api",
        type=_name,
        help="where all of it runs; written too, unless every cluster has it (default: %(default)s)",
    )
    command.add_argument(
        "--name", default="device-api", type=_name, help="what all names begin with (default: %(default)s)"
    )
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the manifests; the exit code."""
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
        _write(options.output_dir, {name: documents(objects) for name, objects in files.items()})
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
        raise CommandError(f"--agent-command {command!r} is no command: {error}") from error
    if not words:
        raise CommandError("--agent-command is empty: name what starts the agent")
    return words


def _write(folder: Path, texts: dict[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write to {folder}: {error.strerror}") from error
