"""The flags of `pilotage run` and of programs with `pt.run`. Each has an environment variable; the flag wins."""

# ruff: noqa: RUF009  (each of the functions returns a field of the dataclass)

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from pilotage.cli import simulated
from pilotage.kit.console.flags import storages
from pilotage.kit.console.flags.fields import add_flags, flag, shared, switch
from pilotage.kit.console.flags.types import address, bind_address, log_level, names, positive, seconds

LOG_FORMATS = ("text", "json")


def _address(about: str, default: str = "") -> Any:
    return flag("ADDR", about, default, manager=True, type=bind_address)


def _folder(about: str) -> Any:
    about = f"the folder of tls.crt and tls.key for {about}"
    return flag("DIR", about, None, manager=True, type=Path)


def _seconds(about: str, *, manager: bool = False) -> Any:
    return flag("SECONDS", about, None, manager=manager, type=seconds)


_UI = "127.0.0.1:0"
_BARE = {"--explain": "all", "--ui": _UI}
"""Options with a value that may be left out, and the value that they have then."""


def _add_explain(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--explain",
        nargs="?",
        const="all",
        metavar="OBJECT",
        help="show why each reconcile runs, what it changes and its result; with OBJECT, NAMESPACE/NAME or KIND/NAME, "
        "the reconciles of one object (default: on a terminal, all)",
    )
    group.add_argument(
        "--no-explain", dest="explain", action="store_const", const="no", help="show the log alone on a terminal, too"
    )


class RunParser(argparse.ArgumentParser):
    """A parser of options whose value may be left out: they have one only after `=`, since the next word is the
    target."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        words = sys.argv[1:] if args is None else args
        return super().parse_known_args(
            [f"{word}={_BARE[word]}" if word in _BARE else word for word in words], namespace
        )


@dataclass(frozen=True, slots=True)
class Flags:
    """The flags under their names, with their defaults. None: not given."""

    storage: str = shared(
        lambda group: storages.add_storage(group, f"an API server in this process: {storages.ALL_STORAGES}")
    )
    tenant: str = shared(storages.add_tenant, default="default", manager=False)
    encryption_keys: str = shared(storages.add_encryption_keys)
    kubeconfig: str = shared(storages.add_kubeconfig)
    context: str = shared(None)
    serve: tuple[str, int] | None = flag(
        "ADDR",
        "serve the API server of --storage at HOST:PORT over HTTPS, and write a kubeconfig for kubectl",
        None,
        type=address,
    )
    serve_kubeconfig: Path = flag(
        "FILE",
        "where --serve writes the kubeconfig (default: pilotage.kubeconfig)",
        Path("pilotage.kubeconfig"),
        type=Path,
    )

    install: bool | None = switch(
        "install the CRDs and webhooks of the program first (default: only with --storage)", default=None
    )
    filename: tuple[Path, ...] = flag(
        "FILE",
        "apply the objects of a YAML file, of all in a folder, or of standard input (-), once the program runs; "
        "may be repeated",
        (),
        type=Path,
        action="append",
        short="-f",
    )
    simulate_workloads: bool = switch(
        "simulate workloads: Deployments, StatefulSets, Jobs and the others get Pods, which become ready on simulated "
        "nodes"
    )
    nodes: int | None = simulated.nodes("--simulate-workloads")
    fault: tuple[str, ...] = simulated.faults()
    stages: tuple[Path, ...] = simulated.stages("--simulate-workloads")
    until_idle: bool = switch("exit when everything is reconciled: 0, or 5 with a list of pending work")
    timeout: float | None = _seconds("how long --until-idle waits (default: 60; 0: no limit)")
    horizon: float | None = _seconds("--until-idle waits for what is due again within this time (default: 0)")
    checkpoint: str = flag(
        "NAME",
        "begin with what was changed or is due since the last run with this name, and leave the rest to the next",
        manager=True,
    )
    only: str = flag(
        "OBJECT",
        "with --until-idle: reconcile one object, TYPE/NAME or TYPE/NAMESPACE/NAME, and what follows from it",
    )
    every: float | None = _seconds("with --until-idle: run again and again at this interval, until Ctrl-C or SIGTERM")
    reload: bool = switch("restart when a file of the program changes")
    graceful_shutdown_timeout: float | None = _seconds(
        "how long a shutdown waits for running reconciles (default: 30)", manager=True
    )

    namespace: tuple[str, ...] = flag(
        "NAMES",
        "watch only these namespaces, separated by commas; may be repeated (default: all)",
        (),
        manager=True,
        type=names,
        action="extend",
        short="-n",
    )
    max_concurrent_reconciles: int | None = flag(
        "N",
        "how many objects a controller reconciles at a time (default: 1, or what the program sets)",
        None,
        manager=True,
        type=positive,
    )

    metrics_bind_address: str = _address(
        "where /metrics is served: HOST:PORT, or :PORT for every address (default: nowhere)", "0"
    )
    metrics_secure: bool = switch(
        "serve metrics over HTTPS, to clients with a token and the right to read them", manager=True
    )
    metrics_certificates: Path | None = _folder("--metrics-secure (default: a certificate made in memory)")
    health_probe_bind_address: str = _address("where /healthz and /readyz are served (default: nowhere)")
    debug_bind_address: str = _address(
        "where /debug shows tasks, threads, the event loop, the heap and what `pilotage why` asks (default: nowhere)"
    )
    otlp: str = flag(
        "URL",
        "send OpenTelemetry traces to a collector, as http://127.0.0.1:4318; needs the extra otlp (default: nowhere)",
    )
    ui: str = flag(
        "ADDR",
        "serve a live page of what the program does, and print its address: on this machine alone, or at HOST:PORT "
        "(default: nowhere)",
        manager=True,
        type=bind_address,
        nargs="?",
        const=_UI,
    )
    webhook_bind_address: str = _address("where webhooks are served on a cluster (default: :9443; 0: nowhere)")
    webhook_service: str = flag(
        "NAME",
        "in a Pod, the Service in front of the webhooks; NAME-certificate is the Secret of their certificate (default: "
        "webhook-service)",
        "webhook-service",
        manager=True,
    )
    webhook_certificates: Path | None = _folder("webhooks (default: a certificate in a Secret, which is rotated)")

    leader_elect: bool = switch("elect a leader among the replicas; only the leader reconciles", manager=True)
    leader_election_id: str = flag("NAME", "the Lease of --leader-elect (default: PROGRAM-leader)", manager=True)
    leader_election_namespace: str = flag(
        "NAME",
        "the namespace of the Leases (default: the namespace of the Pod or of the kubeconfig, else default)",
        manager=True,
    )
    shards: str = flag("NAME", "all replicas with this name share the work, each object with one of them", manager=True)
    processes: int | None = flag(
        "N",
        "run N processes that share the work, to use several cores; not on memory:",
        None,
        manager=True,
        type=positive,
    )

    log_level: str = flag("LEVEL", "debug, info, warning, error or v0 to v9 (default: info)", "info", type=log_level)
    log_format: str = flag(
        "FORMAT", "text or json (default: text, in columns on a terminal)", "text", choices=LOG_FORMATS
    )
    explain: str | None = shared(_add_explain, default=None, manager=False)
    traceback: bool = switch("show the whole traceback of an error")
    record: Path | None = flag(
        "FILE",
        "record what reconciles read and write in a file of 64 MiB, for `pilotage replay` and `pilotage why`",
        None,
        manager=True,
        type=Path,
    )

    @property
    def installs(self) -> bool:
        """Whether CRDs and webhooks are installed: what an API server of our own has is what we install."""
        return bool(self.storage) if self.install is None else self.install

    @property
    def idle_timeout(self) -> float | None:
        """How long `--until-idle` waits; None: without a limit."""
        return 60.0 if self.timeout is None else self.timeout or None


_GROUPS = {
    "storage": "where it runs",
    "install": "how it runs",
    "namespace": "what it works on",
    "metrics_bind_address": "addresses",
    "leader_elect": "replicas",
    "log_level": "output",
}
"""The groups of the help, by their first flag."""
MANAGER_FLAGS = tuple(each.name for each in fields(Flags) if each.metadata["manager"])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add all flags. A flag that is not given is None: then its environment variable counts, then the default."""
    add_flags(parser, Flags, _GROUPS)


def variable(destination: str) -> str:
    """The environment variable of a flag: PILOTAGE_LOG_LEVEL of `--log-level`."""
    return f"PILOTAGE_{destination.upper()}"
