"""`pilotage rbac`: the least roles of a program."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import reported, write_files
from pilotage.kit.console.flags import add_path, add_switch, add_value, add_values
from pilotage.kit.console.help import add_command
from pilotage.kit.console.terminal import standard_error, standard_output

if TYPE_CHECKING:
    from pilotage.cli.program.declarations import Declarations
    from pilotage.cli.rbac.analysis import Analysis
    from pilotage.cli.rbac.grants import Installation
    from pilotage.cluster.recording import RecordedPermission


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "rbac",
        "generate the least roles that a program needs",
        "Generate the least Roles and ClusterRoles of a program, as YAML on standard output: from what it "
        "declares (for_, owns, watches, events, leader election, webhooks), from the calls of its client that name a "
        "kind, and from the requests of a recorded run.",
        "pilotage rbac guestbook.operator",
        "pilotage rbac --explain",
        "pilotage rbac --record rules.json -- pytest",
        parser_class=_RecordingParser,
        usage="pilotage rbac [-h] [OPTIONS] [TARGET] [-- COMMAND …]",
        run=run,
    )
    command.add_argument("target", nargs="?", metavar="TARGET", help="the program, as for pilotage run")
    add_installation_arguments(command)
    add_path(command, "--record", "FILE", "run COMMAND, and record its requests in FILE")
    add_path(command, "--seen", "FILE", "use the requests that an earlier --record wrote to FILE")
    add_value(command, "--cluster", "NAME", "the role for a further cluster of the manager")
    output = command.add_mutually_exclusive_group()
    add_switch(output, "--explain", "print each permission with the line that needs it instead of YAML")
    add_path(output, "--output", "FILE", "write to FILE instead of standard output")
    add_path(output, "--check", "FILE", "compare with FILE, and exit with 1 and the difference if it differs")


class _RecordingParser(argparse.ArgumentParser):
    """Parses the words after `--` as the command to record. argparse would parse the first one as the target."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        words = list(args or ())
        at = words.index("--") if "--" in words else len(words)
        options, unknown = super().parse_known_args(words[:at], namespace)
        options.command = words[at + 1 :]
        return options, unknown


def add_installation_arguments(command: argparse.ArgumentParser) -> None:
    """The options about how a program is run on a cluster."""
    command.add_argument("--name", type=_name, help="the prefix of all names (default: the name of the project)")
    command.add_argument(
        "--namespace", type=_name, help="the namespace that the program runs in (default: from the project)"
    )
    add_values(
        command,
        "--watch-namespace",
        "NAME",
        "a namespace that the program works in, with a Role there; may be repeated (default: all namespaces)",
        type=_name,
    )
    command.add_argument(
        "--leader-elect",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether replicas elect a leader (default: they do)",
    )


def run(options: argparse.Namespace) -> int:
    """Run the command and return its exit code."""
    from pilotage.cli.rbac import seen as recording
    from pilotage.cli.rbac.analysis import analyse

    if options.command and options.record is None:
        raise CommandError("a command after -- needs --record FILE, the file to record its requests in")
    if options.record is not None:
        if not options.command:
            raise CommandError(f"--record needs a command: pilotage rbac --record {options.record} -- pytest")
        recording.record(options.command, options.record)
    file = options.record or options.seen
    seen: list[RecordedPermission] | None = recording.read(file) if file is not None else None
    declared, installation = read_program(options)
    analysis = analyse(declared, installation, seen)
    for note in analysis.notes:
        print(f"pilotage: {note}", file=sys.stderr)
    if options.explain:
        print("\n".join(explained(analysis)))
        return 0
    if options.record is not None:
        print("\n".join(explained(analysis)), file=sys.stderr)
    return _deliver(_yaml(analysis, installation, options.cluster), options)


def read_program(options: argparse.Namespace) -> tuple[Declarations, Installation]:
    """What the program of the options declares, and how it is run on a cluster."""
    import asyncio

    from pilotage.cli.program.declarations import declarations
    from pilotage.cli.program.project import chosen_target, program_name
    from pilotage.cli.program.target import load_target
    from pilotage.cli.rbac.grants import Installation

    text, project = chosen_target(options.target or "", Path.cwd())
    with standard_error().working(f"Reading {text}"):
        declared = asyncio.run(declarations(load_target(text)))
    name = options.name or (project.name if project is not None else program_name(text))
    own, server = declared.options, declared.webhook_options
    return declared, Installation(
        name=name,
        namespace=options.namespace or (project.namespace if project is not None else f"{name}-system"),
        namespaces=tuple(options.watch_namespace) or _own_namespaces(declared),
        leader_election=options.leader_elect if own is None else own.leader_election,
        lease="" if own is None else own.leader_election_id,
        registers_webhooks=own is not None and server is not None and server.register,
    )


def explained(analysis: Analysis) -> list[str]:
    """A table of the permissions."""
    from pilotage.cli.table import Table

    rows = analysis.explanation()
    if analysis.seen is None:
        return Table(("PERMISSION", "NEEDED BY")).begin([row[:2] for row in rows])
    return Table(("PERMISSION", "NEEDED BY", "SEEN AT")).begin(rows)


def _yaml(analysis: Analysis, installation: Installation, cluster: str) -> str:
    from pilotage.cli.rbac.roles import roles
    from pilotage.meta.text import yamltext

    granted = [grant for grant in analysis.grants if grant.cluster == cluster]
    if cluster and not granted:
        raise CommandError(f"the program declares nothing for a cluster {cluster!r}")
    return yamltext.write_all(roles(granted, installation))


def _deliver(text: str, options: argparse.Namespace) -> int:
    if options.check is not None:
        return _check(options.check, text)
    if options.output is not None:
        write_files(options.output.parent, {options.output.name: text})
    else:
        sys.stdout.write(text)
    return 0


def _check(path: Path, text: str) -> int:
    found = ""
    with reported(f"cannot read {path}"), suppress(FileNotFoundError):
        found = path.read_text(encoding="utf-8")
    if found == text:
        return 0
    import difflib  # this module is loaded for the help of all commands

    lines = difflib.unified_diff(found.splitlines(), text.splitlines(), str(path), "generated", lineterm="")
    output = standard_output()
    output.write(output.difference("".join(f"{line}\n" for line in lines)))
    print(f"pilotage: {path} is not what the program needs; write it with --output {path}", file=sys.stderr)
    return 1


def _own_namespaces(declared: Declarations) -> tuple[str, ...]:
    """The namespaces of the cache of the program's own manager."""
    cache = declared.options.cache if declared.options is not None else None
    return tuple(cache.default_namespaces or ()) if cache is not None else ()


def _name(text: str) -> str:
    from pilotage.meta.validation.names import dns_1123_label

    if problems := dns_1123_label(text):
        raise argparse.ArgumentTypeError(f"{text!r} {problems[0]}")
    return text
