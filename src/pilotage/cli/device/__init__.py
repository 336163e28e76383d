"""`pilotage device`: the Device API server of this node, and commands that show its GPUs."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pilotage.cli.flags import places
from pilotage.cli.flags.types import gid, mode, number, seconds, uid
from pilotage.cli.help import examples

PROVIDERS = ("fake", "nvml", "replay")
PROFILES = ("v6", "v1", "v8")
OUTPUTS = ("table", "wide", "json", "yaml", "name")

_TARGET_HELP = (
    "the address of the server: unix:///PATH or HOST:PORT (default: $NVIDIA_DEVICE_API_TARGET, else "
    "unix:///var/run/nvidia-device-api/device-api.sock)"
)


def register(subparsers: Any) -> None:
    """Add the commands to the command line."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        "device",
        help="serve or show the GPUs of this node",
        description="The Device API: the GPUs of this node and their health, over gRPC on a Unix socket.",
        epilog=examples("pilotage device serve --provider fake", "pilotage device get"),
    )
    subparsers = command.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_serve(subparsers)
    _add_get(subparsers)
    _add_describe(subparsers)
    _add_watch(subparsers)


def _add_serve(subparsers: Any) -> None:
    command: argparse.ArgumentParser = subparsers.add_parser(
        "serve",
        help="serve the Device API",
        description="Serve the Device API until Ctrl-C or SIGTERM. Without a provider the server discovers no GPUs and "
        "serves the objects that clients write.",
        epilog=examples("pilotage device serve --provider fake --target unix:///tmp/device-api.sock"),
    )
    command.add_argument(
        "--target", default="", metavar="URI", help=_TARGET_HELP.replace("of the server", "to listen on")
    )
    command.add_argument(
        "--provider",
        action="append",
        choices=PROVIDERS,
        default=[],
        help="source of GPUs: fake simulates them, nvml reads the driver, replay plays a recording; may be repeated",
    )
    places.add_storage(
        command, f"where to store objects: {places.ALL_STORAGES} (default: %(default)s)", default="memory:"
    )
    command.add_argument(
        "--profile",
        choices=PROFILES,
        default="v6",
        help="the generation of the wire protocol; v6 also serves clients of v2 and v3 (default: %(default)s)",
    )
    command.add_argument(
        "--metrics-bind-address", default="", metavar="ADDR", help="HOST:PORT for /metrics (default: not served)"
    )
    command.add_argument(
        "--health-probe-bind-address",
        default="",
        metavar="ADDR",
        help="HOST:PORT for /healthz, /livez and /readyz (default: not served)",
    )
    _add_seconds(command, "--gate-seconds", 30, "how long reads fail with UNAVAILABLE while no GPU is known")
    _add_seconds(
        command,
        "--heartbeat-timeout",
        30,
        "the time without a heartbeat after which a provider's conditions become Unknown",
    )
    _add_seconds(command, "--shutdown-grace-period", 25, "how long running calls may take when the server stops")
    command.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="the log level; logs go to standard error (default: %(default)s)",
    )
    _add_access_options(command)
    _add_tcp_options(command)
    _add_limits_options(command)
    _add_providers_options(command)
    command.set_defaults(run=run_serve)


def _add_access_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group(
        "access",
        "The server's own user and root may read and write. Members of the socket's group may read.",
    )
    group.add_argument(
        "--group",
        type=gid,
        metavar="GROUP",
        help="the group of the socket, by name or number (default: the server's group)",
    )
    group.add_argument(
        "--socket-mode",
        type=mode,
        default="0660",
        metavar="MODE",
        help="the file mode of the socket (default: %(default)s)",
    )
    for role in ("read", "write"):
        for kind, subject, parse in (("uid", "user", uid), ("gid", "group", gid)):
            group.add_argument(
                f"--allow-{role}-{kind}",
                action="append",
                type=parse,
                default=[],
                metavar=kind.upper(),
                help=f"a {subject} that may {role}, by name or number; may be repeated",
            )


def _add_tcp_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group(
        "TCP target (HOST:PORT)", "Needs TLS, or a loopback address and --insecure-loopback."
    )
    group.add_argument("--tls-cert", type=Path, metavar="FILE", help="the server's certificate")
    group.add_argument("--tls-key", type=Path, metavar="FILE", help="the key of the server's certificate")
    group.add_argument(
        "--tls-client-ca", type=Path, metavar="FILE", help="accept only clients with a certificate of this authority"
    )
    group.add_argument(
        "--insecure-loopback",
        action="store_true",
        help="no TLS, on a loopback address: every user of this machine may connect",
    )
    group.add_argument(
        "--allow-remote-write", action="store_true", help="clients at HOST:PORT may write, not only read"
    )


def _add_limits_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("limits")
    for option, default, meaning in (
        ("--connections", 256, "maximal number of connections"),
        ("--connections-per-uid", 64, "maximal number of connections per user"),
        (
            "--connections-per-process",
            0,
            "maximal number of connections per process; 0: a quarter of the user's, at least 16",
        ),
        ("--requests-per-second", 100, "maximal number of calls per second and user; 0: no limit"),
    ):
        group.add_argument(option, type=number, default=default, metavar="N", help=f"{meaning} (default: %(default)s)")


def _add_providers_options(command: argparse.ArgumentParser) -> None:
    fake = command.add_argument_group("provider fake")
    fake.add_argument("--count", type=int, default=8, metavar="N", help="number of GPUs (default: %(default)s)")
    _add_seconds(fake, "--period", 2, "time between two changes; 0: no changes")
    fake.add_argument("--seed", type=int, metavar="N", help="the same seed gives the same UUIDs and changes")
    for option, action in (("--failures", "fails or repairs a GPU"), ("--removals", "removes a GPU or adds it again")):
        fake.add_argument(
            option, type=float, default=0.0, metavar="P", help=f"the probability that a change {action} (default: 0)"
        )
    nvml = command.add_argument_group("provider nvml")
    nvml.add_argument(
        "--driver-root", default="", metavar="DIR", help="the root directory of the driver installation (default: /)"
    )
    nvml.add_argument(
        "--ignored-xids", default="", metavar="LIST", help="XIDs that do not change the health of a GPU, such as 13,31"
    )
    _add_seconds(nvml, "--poll-seconds", 10, "time between two reads of the counters")
    replay = command.add_argument_group("provider replay")
    replay.add_argument(
        "--recording",
        type=Path,
        metavar="FILE",
        help="the recording to play once (default: the included recording of an H200, in a loop)",
    )


def _add_get(subparsers: Any) -> None:
    description = "Show the GPUs of this node, or one GPU, as a table or as documents."
    lines = ("pilotage device get -o wide", "pilotage device get --selector rack=a")
    command = _add_show(subparsers, "get", "show the GPUs as a table", description, *lines)
    command.add_argument(
        "-o", "--output", choices=OUTPUTS, default="table", help="the output format (default: %(default)s)"
    )
    command.add_argument(
        "-l", "--selector", default="", metavar="SELECTOR", help="show only GPUs with these labels, such as rack=a"
    )
    command.add_argument(
        "--field-selector",
        default="",
        metavar="SELECTOR",
        help="show only GPUs with these fields: metadata.name, spec.uuid",
    )
    _add_client_options(command)


def _add_describe(subparsers: Any) -> None:
    description = (
        "Show a GPU with its conditions, and its telemetry: temperature, power, utilization, memory, clocks, ECC and "
        "XID errors. Without a name, all GPUs."
    )
    summary = "show the details and the telemetry of GPUs"
    _add_client_options(_add_show(subparsers, "describe", summary, description, "pilotage device describe gpu-1"))


def _add_watch(subparsers: Any) -> None:
    description = "Show the GPUs of this node as a table, and then a row for each change, until Ctrl-C."
    summary = "show the GPUs and each change"
    _add_client_options(_add_show(subparsers, "watch", summary, description, "pilotage device watch"))


def _add_show(subparsers: Any, name: str, summary: str, description: str, *lines: str) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = subparsers.add_parser(
        name, help=summary, description=description, epilog=examples(*lines)
    )
    command.add_argument("name", nargs="?", default="", metavar="NAME", help="show only this GPU")
    command.set_defaults(run=lambda options: _run_show(name, options))
    return command


def _add_client_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--target", default="", metavar="URI", help=_TARGET_HELP)
    command.add_argument(
        "--profile",
        choices=("v6", "v1", "v2", "v3", "v8"),
        default="",
        help="the generation of the wire protocol of the server (default: $PILOTAGE_DEVICE_WIRE, else v6)",
    )
    command.add_argument(
        "--tls-ca", default="", metavar="FILE", help="the certificate authorities to trust for a server at HOST:PORT"
    )
    command.add_argument("--insecure-loopback", action="store_true", help="no TLS for a server on a loopback address")


def _add_seconds(command: Any, option: str, default: float, meaning: str) -> None:
    command.add_argument(
        option, type=seconds, default=default, metavar="SECONDS", help=f"{meaning} (default: %(default)s s)"
    )


def run_serve(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM and return the exit code."""
    import asyncio

    from pilotage.cli.device.options import server_options
    from pilotage.cli.device.server import serve

    asyncio.run(serve(server_options(options), log_level=options.log_level))
    return 0


def _run_show(name: str, options: argparse.Namespace) -> int:
    """Print GPUs and return the exit code; that of `watch` is 0 after Ctrl-C."""
    import asyncio

    from pilotage.cli.device import display

    where = display.connection(options)
    if name == "get":
        asyncio.run(display.get(where, display.selection(options), options.output))
    elif name == "describe":
        asyncio.run(display.describe(where, options.name))
    else:
        try:
            asyncio.run(display.watch(where, options.name))
        except KeyboardInterrupt:
            print()
    return 0
