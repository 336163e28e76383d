"""`pilotage manifests`: what a program needs on a cluster, as YAML."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pilotage.cli.manifests import device
from pilotage.cli.rbac import add_installation_arguments, read_program
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import shown
from pilotage.kit.console.flags import add_path, add_switch
from pilotage.kit.console.help import add_command
from pilotage.kit.console.terminal import GREEN, standard_output

if TYPE_CHECKING:
    from pilotage.cli.manifests.folder import Files
    from pilotage.cli.manifests.settings import InstallationSettings


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "manifests",
        "generate what a program needs on a cluster: CRDs, roles, Deployment, webhooks",
        "Generate the manifests of a program: CRDs, roles, ServiceAccount, Deployment, Services, "
        "NetworkPolicy and webhooks, as plain YAML, as a kustomize base with overlays, and as a Helm chart. In a "
        "project they are written to its deploy folder, elsewhere the plain YAML goes to standard output.",
        "pilotage manifests greetings.py --output deploy",
        "pilotage manifests --check",
        "pilotage manifests --device agent.py --image registry.example/pilotage:1 | kubectl apply -f -",
        run=run,
    )
    command.add_argument("target", nargs="?", metavar="TARGET", help="the program, as for pilotage run")
    add_path(command, "-o --output --output-dir", "DIR", "the folder to write to, instead of standard output")
    add_switch(command, "--check", "write nothing; exit with 1 and the difference if the folder is outdated")
    add_switch(command, "--force", "overwrite generated files that were changed by hand")
    command.add_argument("--image", help="the image of the program (default: the image of the project, or NAME:latest)")
    add_switch(
        command,
        "--grafana",
        "generate a Grafana dashboard and alert rules of the program's metrics instead: in the folder of --output as "
        "dashboard.json and alerts.yaml, else as a ConfigMap and a PrometheusRule on standard output",
    )
    add_path(command, "--seen", "FILE", "add the permissions that pilotage rbac --record wrote to FILE")
    add_installation_arguments(command)
    device.add_arguments(command.add_argument_group("device agents"))


def run(options: argparse.Namespace) -> int:
    """Write the manifests, or compare them, and return the exit code."""
    if options.device:
        return device.run(options)
    if options.grafana:
        return _monitoring(options)
    from pilotage.cli.program.project import find_project

    project = find_project(Path.cwd())
    folder = options.output or (project.deploy if project is not None else None)
    settings = program_settings(options, project.image if project is not None else "")
    if folder is None and not options.check:
        from pilotage.cli.manifests.objects import install

        sys.stdout.write(install(settings))
        return 0
    if folder is None:
        raise CommandError("--check needs a folder to compare with: give --output DIR")
    return _compare(folder, settings) if options.check else _write(folder, settings, force=options.force)


def _monitoring(options: argparse.Namespace) -> int:
    """Write the dashboard and the alert rules."""
    import json

    from pilotage.cli.manifests import monitoring
    from pilotage.kit.console.files import write_files
    from pilotage.meta.text import yamltext

    _, installation = read_program(options)
    if options.output is None:
        sys.stdout.write(yamltext.write_all(monitoring.objects(installation.name, installation.namespace)))
        return 0
    files = {
        "dashboard.json": json.dumps(monitoring.dashboard(installation.name), indent=2) + "\n",
        "alerts.yaml": yamltext.write_all([monitoring.rules(installation.name)]),
    }
    write_files(options.output, files)
    output = standard_output()
    for name in files:
        output.line(output.styled(str(shown(options.output) / name), GREEN))
    return 0


def program_settings(options: argparse.Namespace, image: str) -> InstallationSettings:
    """What the manifests of the program of the options are made of."""
    from pilotage.cli.manifests.settings import InstallationSettings, shared_names
    from pilotage.cli.rbac import seen as recording
    from pilotage.cli.rbac.analysis import analyse
    from pilotage.schema.generate.crd import crds
    from pilotage.webhook.addresses import DEFAULT_SERVICE
    from pilotage.webhook.options import secret_of

    declared, installation = read_program(options)
    own = declared.webhook_options
    if own is not None and own.service is None and declared.options is None:  # the Deployment sets --webhook-service
        installation = replace(installation, webhook_secret=secret_of(f"{installation.name}-{DEFAULT_SERVICE}"))
    analysis = analyse(declared, installation, recording.read(options.seen) if options.seen is not None else None)
    for note in (*analysis.notes, *shared_names(declared)):
        print(f"pilotage: {note}", file=sys.stderr)
    return InstallationSettings(
        installation=installation,
        image=options.image or image or f"{installation.name}:latest",
        target=declared.target.name,
        declared=declared,
        grants=tuple(grant for grant in analysis.grants if not grant.cluster),
        definitions=tuple(crds(declared.kinds)) if declared.kinds else (),
    )


def _files(settings: InstallationSettings) -> Files:
    from pilotage.cli.manifests import chart, kustomize, objects
    from pilotage.cli.manifests.folder import Files

    generated = {"install.yaml": objects.install(settings), **kustomize.files(settings), **chart.files(settings)}
    return Files(generated, kustomize.overlays(settings))


def _write(folder: Path, settings: InstallationSettings, *, force: bool) -> int:
    from pilotage.cli.manifests.folder import write

    changed = write(folder, _files(settings), force=force)
    output = standard_output()
    for name in changed:
        output.line(output.styled(str(shown(folder) / name), GREEN))
    if not changed:
        output.line(f"{shown(folder)} is up to date")
    return 0


def _compare(folder: Path, settings: InstallationSettings) -> int:
    from pilotage.cli.manifests.folder import differences

    lines = list(differences(folder, _files(settings)))
    if not lines:
        return 0
    output = standard_output()
    output.write(output.difference("".join(f"{line}\n" for line in lines)))
    print(f"pilotage: {shown(folder)} is outdated; write it with pilotage manifests", file=sys.stderr)
    return 1
