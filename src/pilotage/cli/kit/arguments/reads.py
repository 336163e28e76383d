"""The commands that read, and their flags."""

from __future__ import annotations

import argparse

from pilotage.cli.flags.places import suggest
from pilotage.cli.flags.types import count
from pilotage.cli.kit.arguments import flags
from pilotage.cli.kit.arguments.flags import Command, duration


def add_get(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to print: TYPE, TYPE NAME..., TYPE/NAME... or TYPE,TYPE")
    flags.output(
        parser,
        "wide, json, yaml, name, jsonpath=TEMPLATE, jsonpath-as-json=PATH, jsonpath-file=FILE, "
        "custom-columns=HEADING:PATH,..., custom-columns-file=FILE (default: a table)",
    )
    flags.scope(parser)
    flags.filename(parser, "the objects")
    parser.add_argument("-w", "--watch", action="store_true", help="print the objects, then each change until Ctrl-C")
    parser.add_argument("--watch-only", action="store_true", help="print only changes, until Ctrl-C")
    parser.add_argument("--output-watch-events", action="store_true", help="print the type of each change")
    parser.add_argument(
        "--sort-by", default="", metavar="PATH", help="sort by the value at this path, such as .spec.size"
    )
    parser.add_argument("--no-headers", action="store_true", help="do not print headings")
    parser.add_argument("--show-labels", action="store_true", help="add a column with all labels")
    parser.add_argument("--show-kind", action="store_true", help="print the kind before each name")
    parser.add_argument("--show-managed-fields", action="store_true", help="keep managedFields in JSON and YAML")
    columns = parser.add_argument(
        "-L",
        "--label-columns",
        action="append",
        default=[],
        metavar="LABELS",
        help="add a column for each of these labels",
    )
    suggest(columns, None)
    parser.add_argument(
        "--chunk-size",
        type=count,
        default=500,
        metavar="N",
        help="maximum number of objects per request (default: 500; 0: all)",
    )
    parser.add_argument("--ignore-not-found", action="store_true", help="do not fail if an object does not exist")


GET = Command(
    "get",
    "print objects",
    "Print objects: as a table with the columns of their kind, or in another format.",
    ("namespaces", "namespaces -o yaml -l team=a", "namespaces -o jsonpath='{.items[*].metadata.name}'"),
    add_get,
)


def add_describe(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to describe: TYPE, TYPE NAME..., TYPE/NAME..., or the beginning of names")
    flags.filename(parser, "the objects")
    flags.scope(parser)
    parser.add_argument(
        "--show-events",
        action="store_true",
        default=True,
        help="print the events of the object (default: true; --show-events=false)",
    )


def add_wait(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to wait for: TYPE NAME..., TYPE/NAME..., or TYPE with -l or --all")
    condition = parser.add_argument(
        "--for",
        dest="condition",
        default="",
        metavar="CONDITION",
        help="condition=NAME[=STATUS], jsonpath='{PATH}'[=VALUE], create or delete",
    )
    suggest(condition, ("create", "delete"))
    parser.add_argument(
        "--timeout",
        type=duration,
        default=30.0,
        metavar="TIME",
        help="how long to wait, such as 5m (default: 30s; 0: check once)",
    )
    flags.filename(parser, "the objects")
    flags.output(parser, flags.OBJECT_FORMATS)
    flags.scope(parser)
    parser.add_argument("--all", action="store_true", help="select all objects of the type in the namespace")


def add_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("resource", metavar="TYPE[.FIELD]", help="a type, or a field of it, such as todos.spec.text")
    parser.add_argument("--recursive", action="store_true", help="print nested fields too, without descriptions")
    parser.add_argument("--api-version", default="", metavar="VERSION", help="the API version, such as apps/v1")


def add_api_resources(parser: argparse.ArgumentParser) -> None:
    flags.output(parser, "wide, json, yaml, name (default: a table)")
    parser.add_argument("--no-headers", action="store_true", help="do not print headings")
    parser.add_argument("--api-group", default=None, metavar="GROUP", help="only resources of this group")
    parser.add_argument(
        "--namespaced",
        action="store_true",
        default=None,
        help="only namespaced types; --namespaced=false: only cluster-scoped ones",
    )
    parser.add_argument("--verbs", action="append", default=[], metavar="VERBS", help="only resources with these verbs")
    parser.add_argument(
        "--categories", action="append", default=[], metavar="NAMES", help="only resources in these categories"
    )
    parser.add_argument(
        "--sort-by", choices=("name", "kind"), default="", metavar="COLUMN", help="sort by name or kind"
    )


def add_events(parser: argparse.ArgumentParser) -> None:
    about = parser.add_argument(
        "--for", dest="about", default="", metavar="TYPE/NAME", help="only events about this object"
    )
    suggest(about, None)
    parser.add_argument("-w", "--watch", action="store_true", help="print the events, then each new one until Ctrl-C")
    types = parser.add_argument(
        "--types", action="append", default=[], metavar="TYPES", help="only events of these types: Normal, Warning"
    )
    suggest(types, ("Normal", "Warning"))
    parser.add_argument("--no-headers", action="store_true", help="do not print headings")
    flags.output(parser, "json, yaml, name (default: a table)")
    flags.namespace(parser)
    flags.everywhere(parser)


def add_logs(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "the object: TYPE NAME or TYPE/NAME")
    parser.add_argument("--tail", type=count, default=None, metavar="N", help="only the last N lines (default: all)")
    parser.add_argument(
        "--since", type=duration, default=0.0, metavar="TIME", help="only lines since this time ago, such as 5m or 2h"
    )
    flags.output(parser, "json (default: text)")
    flags.namespace(parser)


DESCRIBE = Command(
    "describe",
    "print the details of objects",
    "Print the details of objects, with their events.",
    ("namespace default", "configmaps -l app=web"),
    add_describe,
)
WAIT = Command(
    "wait",
    "wait until objects have a condition",
    "Wait until objects have a condition or a value, exist, or are deleted.",
    ("pod/web --for=condition=Ready --timeout=2m", "pod/web --for=jsonpath='{.status.phase}'=Running"),
    add_wait,
)
EXPLAIN = Command(
    "explain",
    "print the fields of a type",
    "Print the fields of a type with their types and descriptions.",
    ("namespaces", "pods.spec.containers", "namespaces --recursive"),
    add_explain,
)
API_RESOURCES = Command(
    "api-resources",
    "print the resource types of the server",
    "Print the types of objects with their short names, groups and kinds.",
    ("", "-o wide --api-group=apps"),
    add_api_resources,
)
EVENTS = Command(
    "events",
    "print events",
    "Print events, oldest first.",
    ("", "--for namespace/default --watch"),
    add_events,
)
LOGS = Command(
    "logs",
    "print what reconcilers logged for an object",
    "Print what the reconcilers of a tool logged for an object. The log is kept beside a SQLite storage, in two files "
    "of at most 1 MiB.",
    ("namespace default --tail 20 --storage sqlite:demo.db",),
    add_logs,
)
