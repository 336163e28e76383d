"""The commands that write, and their flags."""

from __future__ import annotations

import argparse

from pilotage.kit.arguments import flags
from pilotage.kit.arguments.flags import Arguments, Files, Selection, command, duration
from pilotage.kit.console.flags import add_switch, add_value, add_values
from pilotage.kit.console.flags.storages import suggest
from pilotage.kit.console.flags.types import count

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class CreateArguments(Files):
    resources: list[str]
    set: list[str]
    validate: str


@command(
    "create",
    CreateArguments,
    "create objects, from files or from values",
    "Create an object of a type with a name and values, or the objects of files.",
    "namespace web --set metadata.labels.team=a",
    "-f objects.yaml",
    writes=True,
    creates=True,
)
def create(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("resources", nargs="*", metavar="TYPE NAME", help="the type and the name of the object")
    flags.set_values(parser)
    flags.written_objects(parser)
    flags.dry_run(parser)
    flags.validate(parser)


class ApplyArguments(Files):
    prune: bool = False
    selector: str = ""
    all: bool = False
    force_conflicts: bool
    server_side: bool = False
    validate: str


@command(
    "apply",
    ApplyArguments,
    "create or change the objects of files",
    "Apply the objects of files: create those that do not exist, and change the others. Fields that other programs set "
    "stay; a field that another program has set to something else is a conflict.",
    "-f objects.yaml",
    "-f objects/ -R --prune -l app=web",
    writes=True,
    creates=True,
)
def apply(parser: argparse.ArgumentParser) -> None:
    flags.written_objects(parser)
    add_switch(parser, "--prune", "delete what was applied before and is no longer in the files")
    flags.selector(parser, "labels of the objects that --prune may delete")
    add_switch(parser, "--all", "--prune may delete all objects of the applied kinds")
    add_switch(parser, "--force-conflicts", "take over fields that another program has set")
    add_switch(parser, "--server-side", "print what kubectl apply --server-side prints; apply is always server-side")
    flags.dry_run(parser)
    flags.validate(parser)


class DiffArguments(ApplyArguments):
    """What `apply` would do."""

    dry_run: str = "server"


@command(
    "diff",
    DiffArguments,
    "print what apply would change",
    "Print the differences between the objects that are stored and what they would be after an apply. The exit code is "
    "0 if there are none, 1 if there are some, and higher after an error. Nothing is written.",
    "-f objects.yaml",
    writes=True,
    previews=True,
    least_failure=2,  # 1 are differences, as for diff(1)
)
def diff(parser: argparse.ArgumentParser) -> None:
    flags.filename(parser, "the objects")
    flags.namespace(parser)
    flags.field_manager(parser)
    add_switch(parser, "--force-conflicts", "take over fields that another program has set")
    flags.validate(parser)


class PatchArguments(Selection):
    set: list[str]
    unset: list[str]
    patch: str
    patch_file: str
    type: str | None
    subresource: str
    patch_document: Any
    """The patch, once it is read."""


@command(
    "patch",
    PatchArguments,
    "change fields of an object",
    "Change fields of an object: by --set PATH=VALUE, or by a patch document.",
    "namespace web --set metadata.labels.team=b",
    """namespace web -p '{"metadata":{"labels":{"team":"b"}}}'""",
    writes=True,
)
def patch(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to patch: TYPE NAME or TYPE/NAME")
    flags.set_values(parser)
    suggest(add_values(parser, "--unset", "PATH", "a field to remove; may be repeated"), None)
    add_value(parser, "-p --patch", "PATCH", "a patch as JSON or YAML")
    add_value(parser, "--patch-file", "FILE", "a file with the patch")
    add_value(
        parser,
        "--type",
        "TYPE",
        "json, merge or strategic (default: strategic for kinds of Kubernetes, merge for others)",
        None,
        choices=("json", "merge", "strategic"),
    )
    add_value(parser, "--subresource", "NAME", "patch a subresource, such as status or scale")
    flags.written_objects(parser)
    flags.dry_run(parser)


class Deletion(Arguments):
    """How objects are deleted."""

    cascade: str
    grace_period: int
    timeout: float
    now: bool = False
    force: bool = False
    ignore_not_found: bool


class DeleteArguments(Selection, Deletion):
    wait: bool


@command(
    "delete",
    DeleteArguments,
    "delete objects",
    "Delete objects by name, by file, by selector or all, and wait until they are deleted.",
    "namespace web",
    "-f objects.yaml",
    "configmaps -l app=web",
    writes=True,
    loops_with=("wait",),
)
def delete(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to delete: TYPE NAME..., TYPE/NAME..., or TYPE with -l or --all")
    flags.filename(parser, "the objects")
    flags.output(parser, "name")
    flags.scope(parser)
    add_switch(parser, "--all", "select all objects of the type in the namespace")
    _add_deletion(parser)
    add_switch(parser, "--now", "the same as --grace-period=1")
    add_switch(parser, "--force", "delete immediately, without a grace period")
    add_switch(parser, "--wait", "wait until the objects are deleted (default: true; --wait=false)", default=True)
    add_switch(parser, "--ignore-not-found", "do not fail if an object does not exist")
    flags.dry_run(parser)


def _add_deletion(parser: argparse.ArgumentParser) -> None:
    """How objects are deleted."""
    add_value(
        parser,
        "--cascade",
        "HOW",
        "how dependents are deleted: background, foreground or orphan (default: background)",
        "background",
        choices=("background", "foreground", "orphan", "true", "false"),
    )
    add_value(
        parser, "--grace-period", "SECONDS", "grace period in seconds (default: the one of the kind)", -1, type=int
    )
    add_value(
        parser, "--timeout", "TIME", "how long to wait, such as 30s or 5m (default: no limit)", 0.0, type=duration
    )


class ReplaceArguments(Files, Deletion):
    recreate: bool
    validate: str
    ignore_not_found: bool = True


@command(
    "replace",
    ReplaceArguments,
    "replace the objects of files",
    "Replace existing objects by objects of files: fields that a file does not have are removed. With --force "
    "they are deleted and created again, also where a field may not be changed.",
    "-f objects.yaml",
    "-f objects.yaml --force",
    writes=True,
    loops_with=("recreate",),
)
def replace(parser: argparse.ArgumentParser) -> None:
    flags.written_objects(parser)
    parser.add_argument(
        "--force", dest="recreate", action="store_true", help="delete the objects, and create them again"
    )
    _add_deletion(parser)
    flags.dry_run(parser)
    flags.validate(parser)


class ScaleArguments(Selection):
    replicas: int
    current_replicas: int | None
    resource_version: str


@command(
    "scale",
    ScaleArguments,
    "set the number of replicas",
    "Set the number of replicas of objects whose type has a scale subresource, such as a Deployment.",
    "deployment web --replicas=3",
    "deployment/web --current-replicas=3 --replicas=5",
    writes=True,
)
def scale(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to scale: TYPE NAME..., TYPE/NAME..., or TYPE with -l or --all")
    add_value(parser, "--replicas", "N", "the new number of replicas", type=count, required=True)
    add_value(parser, "--current-replicas", "N", "fail if the number is another one now", None, type=count)
    add_value(parser, "--resource-version", "VERSION", "fail if the object has another version now")
    flags.written_objects(parser)
    flags.selector(parser, "select objects by labels, such as app=web,tier!=test")
    add_switch(parser, "--all", "select all objects of the type in the namespace")
    flags.dry_run(parser)


@command(
    "reconcile",
    Arguments,
    "run the reconcilers until they are idle",
    "Run the reconcilers for objects that changed or failed since the last run, or are due now. Commands that write do "
    "this automatically.",
    "",
    "--all",
    writes=True,
    waits=True,
    loops=True,
)
def reconcile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all",
        dest="every_object",
        action="store_true",
        help="reconcile all objects, also those that have not changed",
    )


@command(
    "edit",
    Selection,
    "change an object in an editor",
    "Open an object in the editor of KUBE_EDITOR or EDITOR, and save the changes. If the server rejects them, the "
    "file is opened again, with the reason.",
    "namespace default",
    writes=True,
    loops=True,
)
def edit(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to edit: TYPE NAME or TYPE/NAME")
    flags.filename(parser, "the objects")
    flags.namespace(parser)
    flags.field_manager(parser)
    flags.output(parser, "yaml or json, of the file to edit (default: yaml)")


class LabelArguments(Selection):
    overwrite: bool
    list: bool
    pairs: str = "labels"
    """The field of metadata that has them."""


@command(
    "label",
    LabelArguments,
    "set and remove labels",
    "Set labels, or remove those with a minus after their key.",
    "namespace web team=a old-",
    "namespaces --all team=a --overwrite",
    writes=True,
)
def label(parser: argparse.ArgumentParser) -> None:
    _add_pairs(parser, "labels")


class AnnotateArguments(LabelArguments):
    pairs: str = "annotations"


@command(
    "annotate",
    AnnotateArguments,
    "set and remove annotations",
    "Set annotations, or remove those with a minus after their key.",
    "namespace web owner=ada old-",
    writes=True,
    module="label",
)
def annotate(parser: argparse.ArgumentParser) -> None:
    _add_pairs(parser, "annotations")


def _add_pairs(parser: argparse.ArgumentParser, what: str) -> None:
    flags.resources(parser, "TYPE NAME KEY=VALUE... KEY-...; KEY- removes the key")
    add_switch(parser, "--overwrite", "replace existing values")
    add_switch(parser, "--list", f"print the {what}, as the changes would leave them; nothing is written")
    add_switch(parser, "--all", "select all objects of the type in the namespace")
    flags.written_objects(parser)
    flags.everywhere(parser)
    flags.selectors(parser)
    flags.dry_run(parser)
