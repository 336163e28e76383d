"""The commands of the kit and their flags, under kubectl's names. Light: nothing that a command needs is loaded."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from dataclasses import dataclass

from pilotage.cli.help import examples

Add = Callable[[argparse.ArgumentParser], None]


@dataclass(frozen=True)
class Command:
    """A command: its help, its flags, and whether it writes."""

    name: str
    help: str
    description: str
    examples: tuple[str, ...]
    """Command lines without the name of the program."""
    add: Add
    writes: bool = False

    def add_parser(self, subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> argparse.ArgumentParser:
        """Add the command to a command line."""
        program = subparsers._prog_prefix
        parser = subparsers.add_parser(
            self.name,
            help=self.help,
            description=self.description,
            epilog=examples(*(f"{program} {self.name} {each}".strip() for each in self.examples)),
        )
        self.add(parser)
        return parser


def _resources(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("resources", nargs="*", metavar="TYPE", help=what)


def _namespace(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-n", "--namespace", default="", metavar="NAME", help="the namespace")


def _everywhere(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-A", "--all-namespaces", action="store_true", help="objects of all namespaces, and not of one")


def _selectors(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-l", "--selector", default="", metavar="LABELS", help="objects with these labels: app=web,tier!=test"
    )
    parser.add_argument(
        "--field-selector", default="", metavar="FIELDS", help="objects with these fields: metadata.name=a"
    )


def _filename(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument(
        "-f",
        "--filename",
        action="append",
        default=[],
        metavar="FILE",
        help=f"{what} of a YAML or JSON file, of a folder, or of standard input (-); may be repeated",
    )
    parser.add_argument("-R", "--recursive", action="store_true", help="folders of -f with the folders in them")


def _output(parser: argparse.ArgumentParser, formats: str) -> None:
    parser.add_argument("-o", "--output", default="", metavar="FORMAT", help=f"the format: {formats}")


_OBJECT_FORMATS = "json, yaml, name, jsonpath=TEMPLATE"


def _dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dry-run",
        choices=("none", "client", "server"),
        default="none",
        metavar="WHERE",
        help="change nothing: client sends nothing, server checks everything and stores nothing (default: none)",
    )


def _validate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--validate",
        type=_validation,
        default="strict",
        metavar="HOW",
        help="unknown fields: strict refuses them, warn prints and drops them, ignore drops them (default: strict)",
    )


def _set(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="a field, with the type that the schema gives it: spec.size=3; may be repeated",
    )


def add_get(parser: argparse.ArgumentParser) -> None:
    _resources(parser, "what to print: TYPE, TYPE NAME..., TYPE/NAME... or TYPE,TYPE")
    _output(
        parser,
        "wide, json, yaml, name, jsonpath=TEMPLATE, jsonpath-as-json=PATH, jsonpath-file=FILE, "
        "custom-columns=HEADING:PATH,..., custom-columns-file=FILE (default: a table)",
    )
    _namespace(parser)
    _everywhere(parser)
    _selectors(parser)
    _filename(parser, "the objects")
    parser.add_argument("-w", "--watch", action="store_true", help="then print each change, until Ctrl-C")
    parser.add_argument("--watch-only", action="store_true", help="print only changes, until Ctrl-C")
    parser.add_argument("--output-watch-events", action="store_true", help="print the type of each change")
    parser.add_argument("--sort-by", default="", metavar="PATH", help="the order: the value at a path, .spec.size")
    parser.add_argument("--no-headers", action="store_true", help="no line of headings")
    parser.add_argument("--show-labels", action="store_true", help="a column with all labels")
    parser.add_argument("--show-kind", action="store_true", help="names with their kind")
    parser.add_argument("--show-managed-fields", action="store_true", help="managedFields in JSON and YAML")
    parser.add_argument(
        "-L", "--label-columns", action="append", default=[], metavar="LABELS", help="a column for each label"
    )
    parser.add_argument(
        "--chunk-size", type=number, default=500, metavar="N", help="objects in one request (default: 500; 0: all)"
    )
    parser.add_argument("--ignore-not-found", action="store_true", help="an object that does not exist is no error")


def add_create(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("resources", nargs="*", metavar="TYPE NAME", help="the type and the name of the object")
    _set(parser)
    _filename(parser, "the objects")
    _output(parser, _OBJECT_FORMATS)
    _namespace(parser)
    _dry_run(parser)
    _validate(parser)


def add_apply(parser: argparse.ArgumentParser) -> None:
    _filename(parser, "the objects")
    _output(parser, _OBJECT_FORMATS)
    _namespace(parser)
    parser.add_argument("--prune", action="store_true", help="delete what was applied before and is no longer there")
    parser.add_argument("-l", "--selector", default="", metavar="LABELS", help="what --prune may delete, by labels")
    parser.add_argument("--all", action="store_true", help="--prune may delete all objects of the applied kinds")
    parser.add_argument("--force-conflicts", action="store_true", help="take over fields that another program has set")
    parser.add_argument(
        "--server-side", action="store_true", help="report as kubectl apply --server-side; apply always works that way"
    )
    _dry_run(parser)
    _validate(parser)


def add_patch(parser: argparse.ArgumentParser) -> None:
    _resources(parser, "what to patch: TYPE NAME or TYPE/NAME")
    _set(parser)
    parser.add_argument(
        "--unset", action="append", default=[], metavar="PATH", help="a field to remove; may be repeated"
    )
    parser.add_argument("-p", "--patch", default="", metavar="PATCH", help="a patch as JSON or YAML")
    parser.add_argument("--patch-file", default="", metavar="FILE", help="the file of a patch")
    parser.add_argument(
        "--type",
        choices=("json", "merge", "strategic"),
        default=None,
        metavar="TYPE",
        help="json, merge or strategic (default: strategic for kinds of Kubernetes, merge for others)",
    )
    parser.add_argument("--subresource", default="", metavar="NAME", help="patch a subresource: status, scale")
    _filename(parser, "the objects")
    _output(parser, _OBJECT_FORMATS)
    _namespace(parser)
    _dry_run(parser)
    parser.set_defaults(selector="", field_selector="")


def add_delete(parser: argparse.ArgumentParser) -> None:
    _resources(parser, "what to delete: TYPE NAME..., TYPE/NAME..., or TYPE with -l or --all")
    _filename(parser, "the objects")
    _output(parser, "name")
    _namespace(parser)
    _everywhere(parser)
    _selectors(parser)
    parser.add_argument("--all", action="store_true", help="all objects of the type in the namespace")
    parser.add_argument(
        "--cascade",
        choices=("background", "foreground", "orphan", "true", "false"),
        default="background",
        metavar="HOW",
        help="what becomes of dependents: background, foreground or orphan (default: background)",
    )
    parser.add_argument(
        "--grace-period", type=int, default=-1, metavar="SECONDS", help="seconds to terminate (default: the kind's own)"
    )
    parser.add_argument("--now", action="store_true", help="the same as --grace-period=1")
    parser.add_argument("--force", action="store_true", help="without a grace period")
    parser.add_argument(
        "--wait",
        type=boolean,
        nargs="?",
        const=True,
        default=True,
        metavar="BOOL",
        help="wait until the objects are gone (default: true)",
    )
    parser.add_argument(
        "--timeout", type=duration, default=0.0, metavar="TIME", help="how long to wait: 30s, 5m (default: no limit)"
    )
    parser.add_argument("--ignore-not-found", action="store_true", help="an object that does not exist is no error")
    _dry_run(parser)


def add_nothing(parser: argparse.ArgumentParser) -> None:
    """For commands without flags of their own."""


GET = Command(
    "get",
    "print objects",
    "Print objects: as a table with the columns of their kind, or in another format.",
    ("namespaces", "namespaces -o yaml -l team=a", "namespaces -o jsonpath='{.items[*].metadata.name}'"),
    add_get,
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
    "Delete objects by name, by file, by selector or all, and wait until they are gone.",
    ("namespace web", "-f objects.yaml", "configmaps -l app=web"),
    add_delete,
    writes=True,
)
COMMANDS = {command.name: command for command in (GET, CREATE, APPLY, PATCH, DELETE)}
"""All commands that work on any server or storage."""
RECONCILE = Command(
    "reconcile",
    "run the reconcilers until they are idle",
    "Run the reconcilers until nothing is left to do. Commands that write do so by themselves.",
    ("",),
    add_nothing,
    writes=True,
)


def boolean(text: str) -> bool:
    if text not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")
    return text == "true"


def number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more")
    return int(text)


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)(ms|s|m|h))+")


def duration(text: str) -> float:
    """Seconds of `30s`, `1m30s`, `2h`, or of a plain number of seconds. Negative means a week, as in kubectl."""
    sign, rest = (-1, text[1:]) if text.startswith("-") else (1, text)
    if re.fullmatch(r"\d+(\.\d+)?", rest):
        seconds = float(rest)
    elif _DURATION.fullmatch(rest):
        seconds = sum(float(amount) * _UNITS[unit] for amount, unit in re.findall(r"(\d+(?:\.\d+)?)(ms|s|m|h)", rest))
    else:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time, such as 30s or 5m")
    return 7 * 24 * 3600.0 if sign < 0 and seconds else seconds


def _validation(text: str) -> str:
    found = {"true": "Strict", "strict": "Strict", "warn": "Warn", "false": "Ignore", "ignore": "Ignore"}.get(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is none of strict, warn and ignore")
    return found
