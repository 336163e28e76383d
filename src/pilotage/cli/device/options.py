"""Converts the options of `pilotage device serve` to options of the server, and rejects unsafe combinations."""

from __future__ import annotations

import argparse
import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from pilotage.device.access import Access, RemoteRole
from pilotage.device.client.target import Target
from pilotage.device.providers.interface import Provider
from pilotage.device.server.deviceserver import DeviceServerOptions
from pilotage.device.wire.generation import Generation
from pilotage.grpc.options import ServerOptions
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import reported

if TYPE_CHECKING:
    from pilotage.device.providers.nvml.options import NVMLOptions


def server_options(options: argparse.Namespace) -> DeviceServerOptions:
    """The options of the server. Raises CommandError or InvalidDefinition."""
    target = Target.parse(options.target)
    return DeviceServerOptions(
        ssl=_tls(options, target),
        plaintext=options.insecure_loopback,
        targets=(target,),
        access=_access(options, target),
        providers=tuple(_provider(name, options) for name in dict.fromkeys(options.provider)),
        storage=options.storage,
        profile=Generation(options.profile),
        gate_seconds=options.gate_seconds,
        heartbeat_seconds=options.heartbeat_timeout,
        shutdown_grace=options.shutdown_grace_period,
        socket_group=options.group,
        socket_mode=options.socket_mode,
        metrics_address=options.metrics_bind_address,
        health_address=options.health_probe_bind_address,
        grpc=_limits(options),
    )


def _limits(options: argparse.Namespace) -> ServerOptions:
    """The connect burst covers all connections of a user, because clients reconnect together after a restart."""
    return ServerOptions(
        connections=options.connections,
        connections_per_uid=options.connections_per_uid,
        connections_per_process=options.connections_per_process,
        connect_burst=max(ServerOptions().connect_burst, options.connections_per_uid),
        requests_per_second=options.requests_per_second,
    )


def _access(options: argparse.Namespace, target: Target) -> Access:
    remote = RemoteRole.REFUSED
    if not target.path:
        remote = RemoteRole.WRITE if options.allow_remote_write else RemoteRole.READ
    group = os.getegid() if options.group is None else options.group
    return Access(
        read_uids=frozenset(options.allow_read_uid),
        read_gids=frozenset({group, *options.allow_read_gid}),
        write_uids=frozenset(options.allow_write_uid),
        write_gids=frozenset(options.allow_write_gid),
        remote=remote,
    )


def _tls(options: argparse.Namespace, target: Target) -> ssl.SSLContext | None:
    """The TLS context of the server, or None without TLS. Rejects plaintext on a network address."""
    files = (options.tls_cert, options.tls_key)
    if target.path:
        if any(files) or options.tls_client_ca or options.insecure_loopback:
            raise CommandError(f"{target} is a Unix socket: --tls-* and --insecure-loopback apply only to HOST:PORT")
        return None
    if all(files):
        if options.insecure_loopback:
            raise CommandError("--insecure-loopback cannot be combined with --tls-cert; remove one of them")
        return _context(options.tls_cert, options.tls_key, options.tls_client_ca)
    if any(files) or options.tls_client_ca:
        raise CommandError("TLS needs both --tls-cert and --tls-key")
    if not options.insecure_loopback:
        raise CommandError(
            f"cannot serve {target} without TLS, because every client in the network could connect; give --tls-cert "
            "and --tls-key, or listen on a Unix socket, or use --insecure-loopback on a loopback address"
        )
    if not target.is_loopback:
        raise CommandError(
            f"--insecure-loopback needs a loopback address such as 127.0.0.1, but the target is {target}"
        )
    return None


def _context(certificate: Path, key: Path, client_ca: Path | None) -> ssl.SSLContext:
    from pilotage.http.tls import server_context

    for file in filter(None, (certificate, key, client_ca)):
        if not file.is_file():
            raise CommandError(f"file {file} does not exist")
    try:
        return server_context(str(certificate), str(key), client_ca_file=str(client_ca or ""))
    except (OSError, ssl.SSLError) as error:
        raise CommandError(f"cannot load certificate {certificate} and key {key}: {error}") from error


def _provider(name: str, options: argparse.Namespace) -> Provider:
    """Create a provider. Only the modules of this provider are imported."""
    match name:
        case "fake":
            from pilotage.device.providers.fake import FakeOptions, FakeProvider

            return FakeProvider(
                FakeOptions(options.count, options.period, options.seed, options.failures, options.removals)
            )
        case "nvml":
            return _nvml(options)
        case _:
            return _replay(options)


def _nvml(options: argparse.Namespace) -> Provider:
    from pilotage.device.providers.nvml.bindings import BoundLibrary
    from pilotage.device.providers.nvml.provider import NVMLProvider
    from pilotage.device.providers.nvml.worker import WorkerThread

    return NVMLProvider(_nvml_options(options), worker=lambda: WorkerThread(BoundLibrary(options.driver_root)))


def _replay(options: argparse.Namespace) -> Provider:
    from pilotage.device.providers.recording import shipped
    from pilotage.device.providers.replay import replay_provider

    if options.recording is None:
        return replay_provider(shipped(), _nvml_options(options), loop=True)
    with reported(f"cannot read the recording {options.recording}"):
        return replay_provider(options.recording, _nvml_options(options))


def _nvml_options(options: argparse.Namespace) -> NVMLOptions:
    from pilotage.device.providers.nvml.options import NVMLOptions
    from pilotage.device.providers.xids import parse_xids

    return NVMLOptions(poll_seconds=options.poll_seconds, ignored_xids=parse_xids(options.ignored_xids))
