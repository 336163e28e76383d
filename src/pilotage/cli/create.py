"""`pilotage create`: adds a kind, a controller or webhooks to a project."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags import add_switch, add_value
from pilotage.kit.console.help import add_command

if TYPE_CHECKING:
    from pilotage.cli.scaffold.changes import ProjectChanges
    from pilotage.cli.scaffold.layout import Layout
    from pilotage.cli.scaffold.texts.webhook import Parts

_KEEPS = "Files that you have changed are extended, never overwritten; what is there already is reported."


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "create",
        "add a kind, a controller or webhooks to a project; create objects",
        "Add to a project, or create objects: from files with -f, or one object by TYPE, NAME and values. "
        "pilotage create TYPE --help has the options for objects.",
        "pilotage create api Guestbook",
        "pilotage create webhook Guestbook --defaulting",
        "pilotage create -f objects.yaml",
        "pilotage create namespace web --set metadata.labels.team=a",
        usage="pilotage create {api,controller,webhook} ...\n"
        "       pilotage create -f FILE ...\n"
        "       pilotage create TYPE NAME [--set PATH=VALUE] ...",
    )
    title = "what to add to a project"
    parts = command.add_subparsers(title=title, required=True, metavar="WHAT", prog="pilotage create")
    _register_api(parts)
    _register_controller(parts)
    _register_webhook(parts)


def _register_api(parts: Any) -> None:
    command = add_command(
        parts,
        "api",
        "a kind, with its controller and a test",
        "Add a kind to the project: its classes, a controller and a test. A second version of a kind is a "
        "copy at first, with conversions. " + _KEEPS,
        "pilotage create api Guestbook --short-names gb",
    )
    command.add_argument("kind", metavar="KIND", help="the kind in CamelCase, such as Guestbook")
    command.add_argument("--version", default="v1", help="the version (default: %(default)s)")
    command.add_argument("--group", default="", help="the API group (default: group in [tool.pilotage])")
    command.add_argument("--plural", default="", help="the plural in lower case (default: derived from the kind)")
    add_value(command, "--short-names", "NAMES", "short names for kubectl, by commas")
    add_switch(command, "--cluster-scoped", "the kind is cluster-scoped")
    add_switch(command, "--no-controller", "add no controller")
    _finish_parser(command, _api)


def _register_controller(parts: Any) -> None:
    command = add_command(
        parts,
        "controller",
        "a controller, also for a kind of Kubernetes",
        "Add a controller with a test, for a kind of the project or of Kubernetes. " + _KEEPS,
        "pilotage create controller Guestbook",
        "pilotage create controller apps/v1 Deployment",
    )
    _add_kind_arguments(command)
    _finish_parser(command, _controller)


def _register_webhook(parts: Any) -> None:
    command = add_command(
        parts,
        "webhook",
        "webhooks: defaulting, validating, conversion",
        "Add webhooks with a test, for a kind of the project or of Kubernetes. " + _KEEPS,
        "pilotage create webhook Guestbook --defaulting --validating",
    )
    _add_kind_arguments(command)
    add_switch(command, "--defaulting", "fill in fields before an object is stored")
    add_switch(command, "--validating", "accept or reject an object before it is stored")
    add_switch(command, "--conversion", "convert between the versions of the kind")
    _finish_parser(command, _webhook)


def _add_kind_arguments(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "kind", nargs="+", metavar="KIND", help="a kind, with its API version if it is not clear: apps/v1 Deployment"
    )
    command.add_argument("--version", default="", help="the version (default: the storage version)")
    command.add_argument("--group", default="", help="the API group, if two groups have the kind")


def _finish_parser(command: argparse.ArgumentParser, add: Callable[..., list[str]]) -> None:
    add_switch(command, "--dry-run", "print the changes as a diff, and write nothing")
    command.set_defaults(run=run, add=add)


def run(options: argparse.Namespace) -> int:
    """Collect the changes, write them and return the exit code."""
    from pilotage.cli.scaffold.changes import ProjectChanges, finish
    from pilotage.cli.scaffold.create import ByHand
    from pilotage.cli.scaffold.layout import Layout

    layout = Layout.find(Path.cwd())
    changes = ProjectChanges(layout.project.root)
    try:
        steps = options.add(changes, layout, options)
    except ByHand as error:
        print("\n".join(error.lines).rstrip())
        raise
    return finish(changes, options.dry_run, steps)


def _api(changes: ProjectChanges, layout: Layout, options: argparse.Namespace) -> list[str]:
    from pilotage.cli.scaffold import create
    from pilotage.cli.scaffold.kinds import is_builtin, new_subject
    from pilotage.cli.scaffold.names import check_group, check_kind, check_resource_name, check_version
    from pilotage.cli.scaffold.texts.api import NewKind

    known = layout.versions_of(options.kind)
    group = options.group or (known[0].group if known else "") or layout.project.group
    if not group:
        raise CommandError("the API group is not known: give --group, or set group in [tool.pilotage]")
    short_names = tuple(name for name in options.short_names.split(",") if name)
    if known and (options.plural or short_names or options.cluster_scoped) and known[0].version != options.version:
        raise CommandError(f"{options.kind} has its scope and names from {known[0].path}; leave these options out")
    new = NewKind(
        kind=check_kind(options.kind),
        group=check_group(group),
        version=check_version(options.version),
        namespaced=not options.cluster_scoped,
        plural=check_resource_name("plural", options.plural) if options.plural else "",
        short_names=tuple(check_resource_name("short name", name) for name in short_names),
    )
    if not known and is_builtin(new.kind):
        print(
            f"note: Kubernetes has a kind {new.kind}, too. This is another one, in the group {new.group}; a controller "
            f"for the kind of Kubernetes is `pilotage create controller {new.kind}`",
            file=sys.stderr,
        )
    added = create.add_kind(changes, layout, new)
    module = f"{layout.source}/api/{new.version}.py"
    if any(each.version != new.version for each in known):
        if added:
            create.add_version_import(changes, layout, new.version)
        return [f"change the fields in {module}", "make format", f"pilotage create webhook {new.kind} --conversion"]
    if options.no_controller:
        create.add_version_import(changes, layout, new.version)
        return [f"change the fields in {module}"]
    path = next((each.path for each in known if each.version == new.version), module)
    create.add_controller(changes, layout, new_subject(layout, changes.text(path) or "", path, new.kind))
    return [f"change the fields in {module}, and the controller", "make test run"]


def _controller(changes: ProjectChanges, layout: Layout, options: argparse.Namespace) -> list[str]:
    from pilotage.cli.scaffold import create
    from pilotage.cli.scaffold.kinds import find_subject

    subject = find_subject(layout, options.kind, options.version, options.group)
    create.add_controller(changes, layout, subject)
    return [f"write reconcile in {layout.source}/controllers/{subject.names.module}.py", "make test run"]


def _webhook(changes: ProjectChanges, layout: Layout, options: argparse.Namespace) -> list[str]:
    from pilotage.cli.scaffold import create
    from pilotage.cli.scaffold.kinds import find_subject

    if not (options.defaulting or options.validating or options.conversion):
        raise CommandError("give at least one of --defaulting, --validating and --conversion")
    subject = find_subject(layout, options.kind, options.version, options.group)
    create.add_webhook(changes, layout, subject, _parts(layout, options, subject.own))
    return [f"write the methods in {layout.source}/webhooks/{subject.names.module}.py", "make test"]


def _parts(layout: Layout, options: argparse.Namespace, hub: Any) -> Parts:
    from pilotage.cli.scaffold.lines import Import
    from pilotage.cli.scaffold.texts.webhook import Parts

    spokes: list[Import] = []
    if options.conversion:
        if hub is None:
            raise CommandError("--conversion is for kinds of this project: Kubernetes converts its own")
        others = [each for each in layout.versions_of(hub.kind, hub.group) if each.version != hub.version]
        if not others:
            raise CommandError(
                f"{hub.kind} has one version only; add another with `pilotage create api {hub.kind} --version v2`"
            )
        spokes = [Import(each.module, each.class_name, f"{each.kind}{each.version.capitalize()}") for each in others]
    return Parts(options.defaulting, options.validating, tuple(sorted(spokes)))
