"""`pilotage device`: the Device API's server on this node, and what it says about the GPUs."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

PROVIDERS = ("fake", "nvml", "replay")
PROFILES = ("v6", "v1", "v8")
OUTPUTS = ("table", "wide", "json", "yaml", "name")

_TARGET_HELP = (
    "where the server is: unix:///PATH or HOST:PORT (default: NVIDIA_DEVICE_API_TARGET, else "
    "unix:///var/run/nvidia-device-api/device-api.sock)"
)


def register(subparsers: Any) -> None:
    """Add the commands to the command line."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        "device",
        help="serve the GPUs of this node, or show them",
        description="The Device API: the GPUs of this node and how they are, over gRPC on a Unix socket.",
    )
    parts = command.add_subparsers(title="commands", required=True, metavar="COMMAND")
    _serve(parts)
    _get(parts)
    _describe(parts)
    _watch(parts)


def _serve(parts: Any) -> None:
    command: argparse.ArgumentParser = parts.add_parser(
        "serve",
        help="serve the Device API",
        description="Serve the Device API until Ctrl-C or SIGTERM. Without a provider it has no GPUs of its own, and "
        "serves what others write.",
        epilog="example: NVIDIA_DEVICE_API_TARGET=unix:///tmp/device-api.sock pilotage device serve --provider fake",
    )
    command.add_argument("--target", default="", metavar="URI", help=_TARGET_HELP.replace("the server is", "to listen"))
    command.add_argument(
        "--provider",
        action="append",
        choices=PROVIDERS,
        default=[],
        help="who tells about GPUs: fake makes them up, nvml asks the driver, replay plays a recording; may be given "
        "several times",
    )
    command.add_argument(
        "--storage",
        default="memory:",
        metavar="URL",
        help="where objects are kept: memory: (gone at the end) or sqlite:PATH (default: %(default)s)",
    )
    command.add_argument(
        "--profile", choices=PROFILES, default="v6", help="the wire's generation; v6 serves clients of v2 and v3 too"
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
    _add_seconds(command, "--gate-seconds", 30, "how long readers are put off until a first GPU is known")
    _add_seconds(command, "--heartbeat-timeout", 30, "silence after which a provider's conditions become Unknown")
    _add_seconds(command, "--shutdown-grace-period", 25, "how long calls that run may take when the server stops")
    command.add_argument(
        "--log-level",
        choices=("debug", "info", "warning", "error"),
        default="info",
        help="what is logged, to standard error (default: %(default)s)",
    )
    _serve_access(command)
    _serve_tcp(command)
    _serve_limits(command)
    _serve_providers(command)
    command.set_defaults(run=run_serve)


def _serve_access(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group(
        "who may connect",
        "The user of the server and root may read and write. Members of the socket's group may read.",
    )
    group.add_argument(
        "--group", type=gid, metavar="GROUP", help="the group of the socket, by name or number (default: the server's)"
    )
    group.add_argument(
        "--socket-mode", type=mode, default="0660", metavar="MODE", help="who can connect at all (default: %(default)s)"
    )
    for role in ("read", "write"):
        for kind, parse in (("uid", uid), ("gid", gid)):
            group.add_argument(
                f"--allow-{role}-{kind}",
                action="append",
                type=parse,
                default=[],
                metavar=kind.upper(),
                help=f"may {role} too, by name or number; may be given several times",
            )


def _serve_tcp(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group(
        "a target that is HOST:PORT", "needs TLS, or to be on this machine and asked for"
    )
    group.add_argument("--tls-cert", type=Path, metavar="FILE", help="the server's certificate")
    group.add_argument("--tls-key", type=Path, metavar="FILE", help="its key")
    group.add_argument(
        "--tls-client-ca", type=Path, metavar="FILE", help="only clients with a certificate of this authority get in"
    )
    group.add_argument(
        "--insecure-loopback", action="store_true", help="without TLS, on a loopback address: every user here gets in"
    )
    group.add_argument("--allow-remote-write", action="store_true", help="those who get in may write, not only read")


def _serve_limits(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group("how much is granted")
    for option, default, what in (
        ("--connections", 256, "connections at once"),
        ("--connections-per-uid", 64, "connections at once of one user"),
        ("--connections-per-process", 0, "connections at once of one process; 0: a quarter of its user's, at least 16"),
        ("--requests-per-second", 100, "calls a second of one user; 0: as many as they like"),
    ):
        group.add_argument(option, type=number, default=default, metavar="N", help=f"{what} (default: %(default)s)")


def _serve_providers(command: argparse.ArgumentParser) -> None:
    fake = command.add_argument_group("the provider fake")
    fake.add_argument("--count", type=int, default=8, metavar="N", help="how many GPUs (default: %(default)s)")
    _add_seconds(fake, "--period", 2, "between two changes; 0: none")
    fake.add_argument("--seed", type=int, metavar="N", help="the same seed gives the same UUIDs and changes")
    for option, what in (("--failures", "breaks or mends a GPU"), ("--removals", "removes a GPU or brings one back")):
        fake.add_argument(
            option, type=float, default=0.0, metavar="P", help=f"the probability that a change {what} (default: 0)"
        )
    nvml = command.add_argument_group("the provider nvml")
    nvml.add_argument(
        "--driver-root", default="", metavar="DIR", help="where the driver is installed, if not in this root"
    )
    nvml.add_argument(
        "--ignored-xids", default="", metavar="LIST", help="XIDs that say nothing about health, such as 13,31"
    )
    _add_seconds(nvml, "--poll-seconds", 10, "between two looks at the counters")
    replay = command.add_argument_group("the provider replay")
    replay.add_argument(
        "--recording",
        type=Path,
        metavar="FILE",
        help="what it plays, once (default: that of an H200 which ships with Pilotage, again and again)",
    )


def _get(parts: Any) -> None:
    command: argparse.ArgumentParser = parts.add_parser(
        "get",
        help="show the GPUs as a table",
        description="Show the GPUs of this node, or one of them.",
        epilog="example: pilotage device get -o wide",
    )
    command.add_argument("name", nargs="?", default="", metavar="NAME", help="one GPU only")
    command.add_argument(
        "-o", "--output", choices=OUTPUTS, default="table", help="in which form (default: %(default)s)"
    )
    command.add_argument(
        "-l", "--selector", default="", metavar="SELECTOR", help="only GPUs with these labels, such as rack=a"
    )
    command.add_argument(
        "--field-selector",
        default="",
        metavar="SELECTOR",
        help="only GPUs with these fields: metadata.name, spec.uuid",
    )
    _add_client(command)
    command.set_defaults(run=run_get)


def _describe(parts: Any) -> None:
    command: argparse.ArgumentParser = parts.add_parser(
        "describe",
        help="show all about a GPU, and what it reads now",
        description="Show a GPU with its conditions, and its telemetry: temperature, power, utilization, memory, "
        "clocks, ECC and XID errors. Without a name, all GPUs.",
        epilog="example: pilotage device describe gpu-1",
    )
    command.add_argument("name", nargs="?", default="", metavar="NAME", help="one GPU only")
    _add_client(command)
    command.set_defaults(run=run_describe)


def _watch(parts: Any) -> None:
    command: argparse.ArgumentParser = parts.add_parser(
        "watch",
        help="show the GPUs, and each change",
        description="Show the GPUs of this node as a table, and then a row for each change, until Ctrl-C.",
    )
    command.add_argument("name", nargs="?", default="", metavar="NAME", help="one GPU only")
    _add_client(command)
    command.set_defaults(run=run_watch)


def _add_client(command: argparse.ArgumentParser) -> None:
    command.add_argument("--target", default="", metavar="URI", help=_TARGET_HELP)
    command.add_argument(
        "--profile",
        choices=("v6", "v1", "v2", "v3", "v8"),
        default="",
        help="the wire's generation that the server speaks (default: PILOTAGE_DEVICE_WIRE, else v6)",
    )
    command.add_argument("--tls-ca", default="", metavar="FILE", help="who vouches for a server at HOST:PORT")
    command.add_argument(
        "--insecure-loopback", action="store_true", help="no TLS to a server on a loopback address of this machine"
    )


def _add_seconds(command: Any, option: str, default: float, what: str) -> None:
    command.add_argument(
        option, type=seconds, default=default, metavar="SECONDS", help=f"{what} (default: %(default)s s)"
    )


def run_serve(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM; the exit code."""
    import asyncio

    from pilotage.cli.device.options import server_options
    from pilotage.cli.device.server import serve

    asyncio.run(serve(server_options(options), log_level=options.log_level))
    return 0


def run_get(options: argparse.Namespace) -> int:
    """Show GPUs; the exit code."""
    import asyncio

    from pilotage.cli.device.display import connection, get, selection

    asyncio.run(get(connection(options), selection(options), options.output))
    return 0


def run_describe(options: argparse.Namespace) -> int:
    """Describe GPUs; the exit code."""
    import asyncio

    from pilotage.cli.device.display import connection, describe

    asyncio.run(describe(connection(options), options.name))
    return 0


def run_watch(options: argparse.Namespace) -> int:
    """Show GPUs and their changes until Ctrl-C, which is the proper end; the exit code."""
    import asyncio

    from pilotage.cli.device.display import connection, watch

    try:
        asyncio.run(watch(connection(options), options.name))
    except KeyboardInterrupt:
        print()
    return 0


def seconds(text: str) -> float:
    """A number of seconds, with or without its unit."""
    try:
        number = float(text.removesuffix("s"))
    except ValueError:
        number = -1
    if not 0 <= number < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return number


def number(text: str) -> int:
    """How many: none or more."""
    if not (text.isascii() and text.isdecimal() and int(text) < 10**6):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 to 999999")
    return int(text)


def mode(text: str) -> int:
    """The mode of a file, in octal digits."""
    if not re.fullmatch("0?o?[0-7]{3}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no mode of a file: write three octal digits, such as 0660")
    return int(text[-3:], 8)


def uid(text: str) -> int:
    """A user by number or name."""
    import pwd

    return _id(text, "user", lambda name: pwd.getpwnam(name).pw_uid)


def gid(text: str) -> int:
    """A group by number or name."""
    import grp

    return _id(text, "group", lambda name: grp.getgrnam(name).gr_gid)


def _id(text: str, what: str, look_up: Any) -> int:
    if text.isascii() and text.isdecimal() and int(text) < 2**32 - 1:
        return int(text)
    try:
        return int(look_up(text))
    except KeyError:
        raise argparse.ArgumentTypeError(f"there is no {what} {text!r}") from None
