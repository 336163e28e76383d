"""The commands that read, and their flags."""

from __future__ import annotations

import argparse

from pilotage.kit.arguments import flags
from pilotage.kit.arguments.flags import Arguments, Selection, command, duration
from pilotage.kit.console.flags import add_switch, add_value, add_values
from pilotage.kit.console.flags.storages import suggest
from pilotage.kit.console.flags.types import count


class GetArguments(Selection):
    watch: bool
    watch_only: bool
    output_watch_events: bool
    sort_by: str
    no_headers: bool
    show_labels: bool
    show_kind: bool
    show_managed_fields: bool
    label_columns: list[str]
    ignore_not_found: bool


@command(
    "get",
    GetArguments,
    "print objects",
    "Print objects: as a table with the columns of their kind, or in another format.",
    "namespaces",
    "namespaces -o yaml -l team=a",
    "namespaces -o jsonpath='{.items[*].metadata.name}'",
    reads_stored=True,
    watched_with=("watch", "watch_only"),
)
def get(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to print: TYPE, TYPE NAME..., TYPE/NAME... or TYPE,TYPE")
    flags.output(
        parser,
        "wide, json, yaml, name, jsonpath=TEMPLATE, jsonpath-as-json=PATH, jsonpath-file=FILE, "
        "custom-columns=HEADING:PATH,..., custom-columns-file=FILE (default: a table)",
    )
    flags.scope(parser)
    flags.filename(parser, "the objects")
    add_switch(parser, "-w --watch", "print the objects, then each change until Ctrl-C")
    add_switch(parser, "--watch-only", "print only changes, until Ctrl-C")
    add_switch(parser, "--output-watch-events", "print the type of each change")
    suggest(add_value(parser, "--sort-by", "PATH", "sort by the value at this path, such as .spec.size"), None)
    add_switch(parser, "--no-headers", "do not print headings")
    add_switch(parser, "--show-labels", "add a column with all labels")
    add_switch(parser, "--show-kind", "print the kind before each name")
    add_switch(parser, "--show-managed-fields", "keep managedFields in JSON and YAML")
    columns = add_values(parser, "-L --label-columns", "LABELS", "add a column for each of these labels")
    suggest(columns, None)
    add_value(
        parser, "--chunk-size", "N", "maximum number of objects per request (default: 500; 0: all)", 500, type=count
    )
    add_switch(parser, "--ignore-not-found", "do not fail if an object does not exist")


class DescribeArguments(Selection):
    show_events: bool


@command(
    "describe",
    DescribeArguments,
    "print the details of objects",
    "Print the details of objects, with their events.",
    "namespace default",
    "configmaps -l app=web",
)
def describe(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to describe: TYPE, TYPE NAME..., TYPE/NAME..., or the beginning of names")
    flags.filename(parser, "the objects")
    flags.scope(parser)
    add_switch(
        parser, "--show-events", "print the events of the object (default: true; --show-events=false)", default=True
    )


class WaitArguments(Selection):
    condition: str
    timeout: float


@command(
    "wait",
    WaitArguments,
    "wait until objects have a condition",
    "Wait until objects have a condition or a value, exist, or are deleted.",
    "pod/web --for=condition=Ready --timeout=2m",
    "pod/web --for=jsonpath='{.status.phase}'=Running",
    waits=True,
    loops=True,
)
def wait(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "what to wait for: TYPE NAME..., TYPE/NAME..., or TYPE with -l or --all")
    condition = add_value(
        parser,
        "--for",
        "CONDITION",
        "condition=NAME[=STATUS], jsonpath='{PATH}'[=VALUE], create or delete",
        dest="condition",
    )
    suggest(condition, None)
    add_value(
        parser, "--timeout", "TIME", "how long to wait, such as 5m (default: 30s; 0: check once)", 30.0, type=duration
    )
    flags.filename(parser, "the objects")
    flags.output(parser, flags.OBJECT_FORMATS)
    flags.scope(parser)
    add_switch(parser, "--all", "select all objects of the type in the namespace")


class ExplainArguments(Arguments):
    resource: str
    recursive: bool
    api_version: str


@command(
    "explain",
    ExplainArguments,
    "print the fields of a type",
    "Print the fields of a type with their types and descriptions.",
    "namespaces",
    "pods.spec.containers",
    "namespaces --recursive",
)
def explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("resource", metavar="TYPE[.FIELD]", help="a type, or a field of it, such as todos.spec.text")
    add_switch(parser, "--recursive", "print nested fields too, without descriptions")
    add_value(parser, "--api-version", "VERSION", "the API version, such as apps/v1")


class ApiResourcesArguments(Arguments):
    no_headers: bool
    api_group: str | None
    namespaced: bool | None
    verbs: list[str]
    categories: list[str]
    sort_by: str


@command(
    "api-resources",
    ApiResourcesArguments,
    "print the resource types of the server",
    "Print the types of objects with their short names, groups and kinds.",
    "",
    "-o wide --api-group=apps",
)
def api_resources(parser: argparse.ArgumentParser) -> None:
    flags.output(parser, "wide, json, yaml, name (default: a table)")
    add_switch(parser, "--no-headers", "do not print headings")
    add_value(parser, "--api-group", "GROUP", "only resources of this group", None)
    add_switch(
        parser, "--namespaced", "only namespaced types; --namespaced=false: only cluster-scoped ones", default=None
    )
    add_values(parser, "--verbs", "VERBS", "only resources with these verbs")
    add_values(parser, "--categories", "NAMES", "only resources in these categories")
    add_value(parser, "--sort-by", "COLUMN", "sort by name or kind", choices=("name", "kind"))


class EventsArguments(Arguments):
    about: str
    watch: bool
    types: list[str]
    no_headers: bool
    all_namespaces: bool


@command(
    "events",
    EventsArguments,
    "print events",
    "Print events, oldest first.",
    "",
    "--for namespace/default --watch",
    loops=True,
    watched_with=("watch",),
)
def events(parser: argparse.ArgumentParser) -> None:
    about = add_value(parser, "--for", "TYPE/NAME", "only events about this object", dest="about")
    suggest(about, None)
    add_switch(parser, "-w --watch", "print the events, then each new one until Ctrl-C")
    types = add_values(parser, "--types", "TYPES", "only events of these types: Normal, Warning")
    suggest(types, ("Normal", "Warning"))
    add_switch(parser, "--no-headers", "do not print headings")
    flags.output(parser, "json, yaml, name (default: a table)")
    flags.namespace(parser)
    flags.everywhere(parser)


class LogsArguments(Arguments):
    resources: list[str]
    tail: int | None
    since: float


@command(
    "logs",
    LogsArguments,
    "print what reconcilers logged for an object",
    "Print what the reconcilers of a tool logged for an object. The log is kept beside a SQLite storage, in two files "
    "of at most 1 MiB. `why` prints what caused the reconciles, and what they changed.",
    "namespace default --tail 20 --storage sqlite:demo.db",
    loops=True,
    module="recorded.logs",
)
def logs(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "the object: TYPE NAME or TYPE/NAME")
    add_value(parser, "--tail", "N", "only the last N lines (default: all)", None, type=count)
    add_value(parser, "--since", "TIME", "only lines since this time ago, such as 5m or 2h", 0.0, type=duration)
    flags.output(parser, "json (default: text)")
    flags.namespace(parser)


class WhyArguments(Arguments):
    resources: list[str]
    limit: int
    field: str


@command(
    "why",
    WhyArguments,
    "print why an object was reconciled",
    "Print the reconciles of an object in the last commands: what caused each, what it read and wrote, field by field, "
    "and its result. With --field: who wrote this field, in which reconcile, because of what. The history is kept "
    "beside a SQLite storage, in two files of about 1 MiB. `logs` prints what reconcilers logged.",
    "namespace default --limit 3",
    "namespace/default --field metadata.labels",
    loops=True,
    module="recorded.why",
)
def why(parser: argparse.ArgumentParser) -> None:
    flags.resources(parser, "the object: TYPE NAME or TYPE/NAME")
    add_value(parser, "--limit", "N", "how many reconciles are printed, the last ones (default: 10)", 10, type=count)
    add_value(parser, "--field", "PATH", "who wrote this field, such as spec.text or metadata.labels['a.b/c']")
    flags.output(parser, "json (default: text)")
    flags.namespace(parser)
