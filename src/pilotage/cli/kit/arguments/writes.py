"""The commands that write, and their flags."""

from __future__ import annotations

import argparse

from pilotage.cli.kit.arguments import flags
from pilotage.cli.kit.arguments.flags import Command, duration


def add_create(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("resources", nargs="*", metavar="TYPE NAME", help="the type and the name of the object")
    flags.set_values(parser)
    flags.written_objects(parser)
    flags.dry_run(parser)
    flags.validate(parser)


def add_apply(parser: argparse.ArgumentParser) -> None:
    flags.written_objects(parser)
    parser.add_argument(
        "--prune", action="store_true", help="delete what was applied before and is no longer in the files"
    )
    flags.selector(parser, "labels of the objects that --prune may delete")
    parser.add_argument("--all", action="store_true", help="--prune may delete all objects of the applied kinds")
    parser.add_argument("--force-conflicts", action="store_true", help="take over fields that another program has set")
    parser.add_argument(
        "--server-side",
        action="store_true",
        help="print what kubectl apply --server-side prints; apply is always server-side",
    )
    flags.dry_run(parser)
    flags.validate(parser)


def add_diff(parser: argparse.ArgumentParser) -> None:
    flags.filename(parser, "the objects")
    flags.namespace(parser)
    flags.field_manager(parser)
    parser.add_argument("--force-conflicts", action="store_true", help="take over fields that another program has set")
    flags.validate(parser)
    parser.set_defaults(dry_run="server", prune=False, server_side=False)


def add_patch(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to patch: TYPE NAME or TYPE/NAME")
    flags.set_values(parser)
    parser.add_argument(
        "--unset", action="append", default=[], metavar="PATH", help="a field to remove; may be repeated"
    )
    parser.add_argument("-p", "--patch", default="", metavar="PATCH", help="a patch as JSON or YAML")
    parser.add_argument("--patch-file", default="", metavar="FILE", help="a file with the patch")
    parser.add_argument(
        "--type",
        choices=("json", "merge", "strategic"),
        default=None,
        metavar="TYPE",
        help="json, merge or strategic (default: strategic for kinds of Kubernetes, merge for others)",
    )
    parser.add_argument(
        "--subresource", default="", metavar="NAME", help="patch a subresource, such as status or scale"
    )
    flags.written_objects(parser)
    flags.dry_run(parser)
    parser.set_defaults(selector="", field_selector="")


def add_delete(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to delete: TYPE NAME..., TYPE/NAME..., or TYPE with -l or --all")
    flags.filename(parser, "the objects")
    flags.output(parser, "name")
    flags.scope(parser)
    parser.add_argument("--all", action="store_true", help="select all objects of the type in the namespace")
    parser.add_argument(
        "--cascade",
        choices=("background", "foreground", "orphan", "true", "false"),
        default="background",
        metavar="HOW",
        help="how dependents are deleted: background, foreground or orphan (default: background)",
    )
    parser.add_argument(
        "--grace-period",
        type=int,
        default=-1,
        metavar="SECONDS",
        help="grace period in seconds (default: that of the kind)",
    )
    parser.add_argument("--now", action="store_true", help="the same as --grace-period=1")
    parser.add_argument("--force", action="store_true", help="delete immediately, without a grace period")
    parser.add_argument(
        "--wait",
        action="store_true",
        default=True,
        help="wait until the objects are deleted (default: true; --wait=false)",
    )
    parser.add_argument(
        "--timeout",
        type=duration,
        default=0.0,
        metavar="TIME",
        help="how long to wait, such as 30s or 5m (default: no limit)",
    )
    parser.add_argument("--ignore-not-found", action="store_true", help="do not fail if an object does not exist")
    flags.dry_run(parser)


def add_reconcile(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", dest="every_object", action="store_true", help="print all objects, also those that have not changed"
    )


CREATE = Command(
    "create",
    "create objects, from files or from values",
    "Create an object of a type with a name and values, or the objects of files.",
    ("namespace web --set metadata.labels.team=a", "-f objects.yaml"),
    add_create,
    writes=True,
)
APPLY = Command(
    "apply",
    "create or change the objects of files",
    "Apply the objects of files: create those that do not exist, and change the others. Fields that other programs set "
    "stay; a field that another program has set to something else is a conflict.",
    ("-f objects.yaml", "-f objects/ -R --prune -l app=web"),
    add_apply,
    writes=True,
)
DIFF = Command(
    "diff",
    "print what apply would change",
    "Print the differences between the objects that are stored and what they would be after an apply. The exit code is "
    "0 if there are none, 1 if there are some, and higher after an error. Nothing is written.",
    ("-f objects.yaml",),
    add_diff,
    writes=True,
    least_failure=2,  # 1 are differences, as for diff(1)
)
PATCH = Command(
    "patch",
    "change fields of an object",
    "Change fields of an object: by --set PATH=VALUE, or by a patch document.",
    ("namespace web --set metadata.labels.team=b", """namespace web -p '{"metadata":{"labels":{"team":"b"}}}'"""),
    add_patch,
    writes=True,
)
DELETE = Command(
    "delete",
    "delete objects",
    "Delete objects by name, by file, by selector or all, and wait until they are deleted.",
    ("namespace web", "-f objects.yaml", "configmaps -l app=web"),
    add_delete,
    writes=True,
)
RECONCILE = Command(
    "reconcile",
    "run the reconcilers until they are idle",
    "Run the reconcilers for objects that changed or failed since the last run, or are due now. Commands that write do "
    "this automatically.",
    ("", "--all"),
    add_reconcile,
    writes=True,
)


def add_edit(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to edit: TYPE NAME or TYPE/NAME")
    flags.filename(parser, "the objects")
    flags.namespace(parser)
    flags.field_manager(parser)
    flags.output(parser, "yaml or json, of the file to edit (default: yaml)")
    parser.set_defaults(selector="", field_selector="")


def add_label(parser: argparse.ArgumentParser) -> None:
    _add_pairs(parser, "TYPE NAME KEY=VALUE... KEY-...", "labels")


def add_annotate(parser: argparse.ArgumentParser) -> None:
    _add_pairs(parser, "TYPE NAME KEY=VALUE... KEY-...", "annotations")


def _add_pairs(parser: argparse.ArgumentParser, form: str, what: str) -> None:
    flags.resources(parser, f"{form}; KEY- removes the key")
    parser.add_argument("--overwrite", action="store_true", help="replace existing values")
    parser.add_argument("--list", action="store_true", help=f"print the {what}")
    parser.add_argument("--all", action="store_true", help="select all objects of the type in the namespace")
    flags.written_objects(parser)
    flags.everywhere(parser)
    flags.selectors(parser)
    flags.dry_run(parser)


EDIT = Command(
    "edit",
    "change an object in an editor",
    "Open an object in the editor of KUBE_EDITOR or EDITOR, and save the changes. If the server rejects them, the "
    "file is opened again, with the reason.",
    ("namespace default",),
    add_edit,
    writes=True,
)
LABEL = Command(
    "label",
    "set and remove labels",
    "Set labels, or remove those with a minus after their key.",
    ("namespace web team=a old-", "namespaces --all team=a --overwrite"),
    add_label,
    writes=True,
)
ANNOTATE = Command(
    "annotate",
    "set and remove annotations",
    "Set annotations, or remove those with a minus after their key.",
    ("namespace web owner=ada old-",),
    add_annotate,
    writes=True,
)
