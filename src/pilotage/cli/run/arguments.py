"""The flags of `pilotage run` and of programs with `pt.run`. Each has an environment variable; the flag wins."""

from __future__ import annotations

import argparse
from pathlib import Path

from pilotage.cli import placeflags
from pilotage.cli.flagtypes import address, bind_address, log_level, names, positive, seconds

LOG_FORMATS = ("text", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add all flags. A flag that is not given is None: then its environment variable counts, then the default."""
    _add_place(parser.add_argument_group("where it runs"))
    _add_course(parser.add_argument_group("how it runs"))
    _add_work(parser.add_argument_group("what it works on"))
    _add_servers(parser.add_argument_group("addresses"))
    _add_replicas(parser.add_argument_group("replicas"))
    _add_log(parser.add_argument_group("output"))


def variable(destination: str) -> str:
    """The environment variable of a flag: PILOTAGE_LOG_LEVEL of `--log-level`."""
    return f"PILOTAGE_{destination.upper()}"


def _add_place(group: argparse._ArgumentGroup) -> None:
    placeflags.add_storage(group, f"an API server in this process: {placeflags.ALL_STORAGES}")
    placeflags.add_tenant(group)
    placeflags.add_encryption_keys(group)
    placeflags.add_kubeconfig(group)
    group.add_argument(
        "--serve",
        type=address,
        metavar="ADDR",
        help="serve the API server of --storage at HOST:PORT over HTTPS, and write a kubeconfig for kubectl",
    )
    group.add_argument(
        "--serve-kubeconfig",
        type=Path,
        metavar="FILE",
        help="where --serve writes the kubeconfig (default: pilotage.kubeconfig)",
    )


def _add_course(group: argparse._ArgumentGroup) -> None:
    _add_switch(group, "--install", "install the CRDs and webhooks of the program first (default: only with --storage)")
    group.add_argument(
        "-f",
        "--filename",
        type=Path,
        action="append",
        metavar="FILE",
        help="apply the objects of a YAML file, of all in a folder, or of standard input (-), once the program runs; "
        "may be repeated",
    )
    _add_switch(group, "--until-idle", "exit when everything is reconciled: 0, or 5 with a list of what is left")
    group.add_argument(
        "--timeout", type=seconds, metavar="SECONDS", help="how long --until-idle waits (default: 60; 0: no limit)"
    )
    group.add_argument(
        "--horizon",
        type=seconds,
        metavar="SECONDS",
        help="--until-idle waits for what is due again within this time (default: 0)",
    )
    group.add_argument(
        "--checkpoint",
        metavar="NAME",
        help="begin with what was changed or is due since the last run with this name, and leave the rest to the next",
    )
    group.add_argument(
        "--only",
        metavar="OBJECT",
        help="with --until-idle: reconcile one object, TYPE/NAME or TYPE/NAMESPACE/NAME, and what follows from it",
    )
    group.add_argument(
        "--every",
        type=seconds,
        metavar="SECONDS",
        help="with --until-idle: run again and again at this interval, until Ctrl-C or SIGTERM",
    )
    _add_switch(group, "--reload", "restart when a file of the program changes")
    group.add_argument(
        "--graceful-shutdown-timeout",
        type=seconds,
        metavar="SECONDS",
        help="how long a shutdown waits for running reconciles (default: 30)",
    )


def _add_work(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "-n",
        "--namespace",
        type=names,
        action="extend",
        metavar="NAMES",
        help="watch only these namespaces, separated by commas; may be repeated (default: all)",
    )
    group.add_argument(
        "--max-concurrent-reconciles",
        type=positive,
        metavar="N",
        help="how many objects a controller reconciles at a time (default: 1, or what the program sets)",
    )


def _add_servers(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--metrics-bind-address",
        type=bind_address,
        metavar="ADDR",
        help="where /metrics is served: HOST:PORT, or :PORT for every address (default: nowhere)",
    )
    _add_switch(
        group, "--metrics-secure", "serve metrics over HTTPS, to clients with a token and the right to read them"
    )
    group.add_argument(
        "--metrics-certificates",
        type=Path,
        metavar="DIR",
        help="the folder of tls.crt and tls.key for --metrics-secure (default: a certificate made in memory)",
    )
    group.add_argument(
        "--health-probe-bind-address",
        type=bind_address,
        metavar="ADDR",
        help="where /healthz and /readyz are served (default: nowhere)",
    )
    group.add_argument(
        "--debug-bind-address",
        type=bind_address,
        metavar="ADDR",
        help="where /debug shows tasks, threads, the event loop and the heap (default: nowhere)",
    )
    group.add_argument(
        "--webhook-bind-address",
        type=bind_address,
        metavar="ADDR",
        help="where webhooks are served on a cluster (default: :9443; 0: nowhere)",
    )
    group.add_argument(
        "--webhook-certificates",
        type=Path,
        metavar="DIR",
        help="the folder of tls.crt and tls.key for webhooks (default: a certificate in a Secret, which is rotated)",
    )


def _add_replicas(group: argparse._ArgumentGroup) -> None:
    _add_switch(group, "--leader-elect", "of several replicas, only the leader reconciles")
    group.add_argument(
        "--leader-election-id", metavar="NAME", help="the Lease of --leader-elect (default: PROGRAM-leader)"
    )
    group.add_argument(
        "--leader-election-namespace",
        metavar="NAME",
        help="the namespace of the Leases (default: that of the Pod or of the kubeconfig, else default)",
    )
    group.add_argument(
        "--shards", metavar="NAME", help="all replicas with this name share the work, each object with one of them"
    )
    group.add_argument(
        "--processes",
        type=positive,
        metavar="N",
        help="run N processes that share the work, to use several cores; not on memory:",
    )


def _add_log(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--log-level", type=log_level, metavar="LEVEL", help="debug, info, warning, error or v0 to v9 (default: info)"
    )
    group.add_argument(
        "--log-format",
        choices=LOG_FORMATS,
        metavar="FORMAT",
        help="text or json (default: text, in columns on a terminal)",
    )
    _add_switch(group, "--traceback", "show the whole traceback of an error")


def _add_switch(group: argparse._ArgumentGroup, flag: str, description: str) -> None:
    """A flag with its opposite, `--no-…`, which wins over the environment variable."""
    group.add_argument(flag, action=argparse.BooleanOptionalAction, default=None, help=description)
