"""`pilotage device`: the Device API server of this node, and commands that show its GPUs."""

from __future__ import annotations

import argparse
from typing import Any

from pilotage.kit.console.flags import add_path, add_switch, add_value, add_values, storages
from pilotage.kit.console.flags.types import gid, mode, number, positive, seconds, uid
from pilotage.kit.console.help import add_command

PROVIDERS = ("fake", "nvml", "replay")
PROFILES = ("v6", "v1", "v8")
_OUTPUTS = ("table", "wide", "json", "yaml", "name")

_TARGET_HELP = (
    "the address of the server: unix:///PATH or HOST:PORT (default: $NVIDIA_DEVICE_API_TARGET, else "
    "unix:///var/run/nvidia-device-api/device-api.sock)"
)


def register(subparsers: Any) -> None:
    """Add the commands to the command line."""
    command = add_command(
        subparsers,
        "device",
        "serve or show the GPUs of this node",
        "The Device API: the GPUs of this node and their health, over gRPC on a Unix socket.",
        "pilotage device serve --provider fake",
        "pilotage device get",
    )
    subparsers = command.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _add_serve(subparsers)
    _add_get(subparsers)
    _add_describe(subparsers)
    _add_watch(subparsers)
    _add_wait(subparsers)
    _add_inject(subparsers)


def _add_serve(subparsers: Any) -> None:
    command = add_command(
        subparsers,
        "serve",
        "serve the Device API",
        "Serve the Device API until Ctrl-C or SIGTERM. Without a provider the server discovers no GPUs and "
        "serves the objects that clients write.",
        "pilotage device serve --provider fake --target unix:///tmp/device-api.sock",
        run=run_serve,
    )
    add_value(command, "--target", "URI", _TARGET_HELP.replace("of the server", "to listen on"))
    about = "source of GPUs: fake simulates them, nvml reads the driver, replay plays a recording; may be repeated"
    add_values(command, "--provider", None, about, choices=PROVIDERS)
    storages.add_storage(
        command, f"where to store objects: {storages.ALL_STORAGES} (default: %(default)s)", default="memory:"
    )
    about = "the generation of the wire protocol; v6 also serves clients of v2 and v3 (default: %(default)s)"
    add_value(command, "--profile", None, about, "v6", choices=PROFILES)
    add_value(command, "--metrics-bind-address", "ADDR", "HOST:PORT for /metrics (default: not served)")
    about = "HOST:PORT for /healthz, /livez and /readyz (default: not served)"
    add_value(command, "--health-probe-bind-address", "ADDR", about)
    _add_seconds(command, "--gate-seconds", 30, "how long reads fail with UNAVAILABLE while no GPU is known")
    about = "the time without a heartbeat after which a provider's conditions become Unknown"
    _add_seconds(command, "--heartbeat-timeout", 30, about)
    _add_seconds(command, "--shutdown-grace-period", 25, "how long running calls may take when the server stops")
    about = "the log level; logs go to standard error (default: %(default)s)"
    add_value(command, "--log-level", None, about, "info", choices=("debug", "info", "warning", "error"))
    _add_access_options(command)
    _add_tcp_options(command)
    _add_limits_options(command)
    _add_providers_options(command)


def _add_access_options(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group(
        "access",
        "The server's own user and root may read and write. Members of the socket's group may read.",
    )
    add_value(
        group,
        "--group",
        "GROUP",
        "the group of the socket, by name or number (default: the server's group)",
        None,
        type=gid,
    )
    add_value(group, "--socket-mode", "MODE", "the file mode of the socket (default: %(default)s)", "0660", type=mode)
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
    add_path(group, "--tls-cert", "FILE", "the server's certificate")
    add_path(group, "--tls-key", "FILE", "the key of the server's certificate")
    add_path(group, "--tls-client-ca", "FILE", "accept only clients with a certificate of this authority")
    add_switch(group, "--insecure-loopback", "no TLS, on a loopback address: every user of this machine may connect")
    add_switch(group, "--allow-remote-write", "clients at HOST:PORT may write, not only read")


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
    add_value(fake, "--count", "N", "number of GPUs (default: %(default)s)", 8, type=int)
    _add_seconds(fake, "--period", 2, "time between two changes; 0: no changes")
    add_value(
        fake,
        "--seed",
        "N",
        "the same seed gives the same UUIDs and changes (default: the UUIDs of this machine, random changes)",
        None,
        type=int,
    )
    for option, action in (("--failures", "fails or repairs a GPU"), ("--removals", "removes a GPU or adds it again")):
        fake.add_argument(
            option, type=float, default=0.0, metavar="P", help=f"the probability that a change {action} (default: 0)"
        )
    nvml = command.add_argument_group("provider nvml")
    add_value(nvml, "--driver-root", "DIR", "the root directory of the driver installation (default: /)")
    add_value(nvml, "--ignored-xids", "LIST", "XIDs that do not change the health of a GPU, such as 13,31")
    _add_seconds(nvml, "--poll-seconds", 10, "time between two reads of the counters")
    replay = command.add_argument_group("provider replay")
    add_path(
        replay,
        "--recording",
        "FILE",
        "the recording to play once (default: the included recording of an H200, in a loop)",
    )


def _add_get(subparsers: Any) -> None:
    description = "Show the GPUs of this node, or one GPU, as a table or as documents."
    lines = (
        "pilotage device get -o wide",
        "pilotage device get --selector rack=a",
        "pilotage device get gpu-1 -o jsonpath='{.spec.uuid}'",
    )
    command = _add_show(subparsers, "get", "show the GPUs as a table", description, *lines)
    about = (
        "output format: table, wide, json, yaml, name, jsonpath=TEMPLATE, custom-columns=SPEC (default: %(default)s)"
    )
    storages.suggest(add_value(command, "-o --output", "FORMAT", about, "table"), _OUTPUTS)
    add_value(command, "-l --selector", "SELECTOR", "show only GPUs with these labels, such as rack=a")
    add_value(command, "--field-selector", "SELECTOR", "show only GPUs with these fields: metadata.name, spec.uuid")
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


def _add_wait(subparsers: Any) -> None:
    command = add_command(
        subparsers,
        "wait",
        "wait until GPUs have a condition",
        "Wait until GPUs have a condition or a value, exist, or are deleted, as kubectl wait does. Without a name, "
        "wait for all GPUs. The exit code is 1 if they do not in time.",
        "pilotage device wait gpu-1 --for=condition=Ready",
        "pilotage device wait --for=condition=ResetRequired=False --timeout=5m",
        run=_run_wait,
    )
    command.add_argument("names", nargs="*", metavar="NAME", help="wait for these GPUs")
    about = "condition=NAME[=STATUS], jsonpath='{PATH}'[=VALUE], create or delete"
    storages.suggest(add_value(command, "--for", "CONDITION", about, dest="condition"), ("create", "delete"))
    about = "how long to wait, such as 5m (default: 30s; 0: check once)"
    add_value(command, "--timeout", "TIME", about, 30.0, type=_duration)
    add_value(command, "-l --selector", "SELECTOR", "wait for the GPUs with these labels, such as rack=a")
    _add_client_options(command)


def _add_inject(subparsers: Any) -> None:
    command = add_command(
        subparsers,
        "inject",
        "inject an XID or a condition into a fake GPU",
        "Inject faults into a GPU of the provider fake, until --reset: XIDs, which have the effect that they have on a "
        "GPU that NVML reads, or any conditions. The faults are in an annotation of the GPU.",
        "pilotage device inject gpu-3 --xid 48",
        "pilotage device inject gpu-3 --condition Degraded=True --reason ThermalSlowdown",
        "pilotage device inject gpu-3 --reset",
        run=_run_inject,
    )
    command.add_argument("name", metavar="NAME", help="the GPU")
    add_values(
        command, "--xid", "NUMBER", "an XID of NVIDIA's driver, such as 48 or 79; may be repeated", type=positive
    )
    add_values(command, "--condition", "TYPE[=STATUS]", "a condition: True, False or Unknown; may be repeated")
    add_value(command, "--reason", "REASON", "the reason of the conditions (default: %(default)s)", "Injected")
    add_value(command, "--message", "TEXT", "the message of the conditions")
    add_value(
        command, "--recommended-action", "ACTION", "the action that the provider recommends, such as COMPONENT_RESET"
    )
    add_switch(command, "--reset", "reset the GPU first: what was injected before is removed")
    _add_client_options(command)


def _run_inject(options: argparse.Namespace) -> int:
    import asyncio

    from pilotage.cli.device import display, injecting

    asyncio.run(injecting.inject(display.connection(options), options))
    return 0


def _duration(text: str) -> float:
    from pilotage.kit.arguments.flags import duration

    return duration(text)


def _run_wait(options: argparse.Namespace) -> int:
    import asyncio

    from pilotage.cli.device import display, waiting

    asyncio.run(waiting.wait(display.connection(options), options))
    return 0


def _add_show(subparsers: Any, name: str, summary: str, description: str, *lines: str) -> argparse.ArgumentParser:
    command = add_command(subparsers, name, summary, description, *lines, run=lambda options: _run_show(name, options))
    command.add_argument("name", nargs="?", default="", metavar="NAME", help="show only this GPU")
    return command


def _add_client_options(command: argparse.ArgumentParser) -> None:
    add_value(command, "--target", "URI", _TARGET_HELP)
    about = "the generation of the wire protocol of the server (default: $PILOTAGE_DEVICE_WIRE, else v6)"
    add_value(command, "--profile", None, about, choices=("v6", "v1", "v2", "v3", "v8"))
    add_value(command, "--tls-ca", "FILE", "the certificate authorities to trust for a server at HOST:PORT")
    add_switch(command, "--insecure-loopback", "no TLS for a server on a loopback address")


def _add_seconds(command: Any, option: str, default: float, meaning: str) -> None:
    add_value(command, option, "SECONDS", f"{meaning} (default: %(default)s s)", default, type=seconds)


def run_serve(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM and return the exit code."""
    import asyncio

    from pilotage.cli.device.options import server_options
    from pilotage.cli.device.server import serve
    from pilotage.kit.console.exhaustion import guarded

    asyncio.run(guarded(serve(server_options(options), log_level=options.log_level)))
    return 0


def _run_show(name: str, options: argparse.Namespace) -> int:
    """Print GPUs and return the exit code, which is 0 for `watch` after Ctrl-C."""
    import asyncio

    from pilotage.cli.device import display

    where = display.connection(options)
    if name == "get":
        asyncio.run(display.get(where, options))
    elif name == "describe":
        asyncio.run(display.describe(where, options.name))
    else:
        try:
            asyncio.run(display.watch(where, options.name))
        except KeyboardInterrupt:
            print()
    return 0
