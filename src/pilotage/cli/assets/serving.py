"""The server behind the flags of kube-apiserver."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path

from pilotage.cli.serve.access import authenticator, client_authorities, trust_clients
from pilotage.cli.serve.audit import audited
from pilotage.cli.serve.options import ServeOptions
from pilotage.cli.simulated import NODES, simulated, workload_options
from pilotage.cluster import Cluster
from pilotage.http import certificates, tls
from pilotage.http.server import serve_on
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.signals.stop import Stop
from pilotage.kubernetes.bootstrap.publication import publish_authentication, publish_root_ca
from pilotage.kubernetes.plugins import enabled
from pilotage.server.http.handler import HTTPHandler

_SERVICE_RANGE = "10.0.0.0/24"


async def serve(listener: socket.socket, values: Mapping[str, str], environment: Mapping[str, str]) -> None:
    """Serve on a socket until SIGTERM or SIGINT. Raises CommandError for a value that cannot be used."""
    options = serve_options(values)
    nodes = simulated_nodes(environment)
    cluster = _cluster(options, ("*",) if nodes else ())
    context = server_context(values)
    trust_clients(context, options)
    with Stop.on_signals() as stop:
        async with AsyncExitStack() as exits:
            await exits.enter_async_context(cluster)
            users = authenticator(options, "", cluster.registry.context)
            handler = HTTPHandler(cluster.registry, users, exits.enter_context(audited(options)))
            await publish_authentication(cluster.registry, client_authorities(options))
            if nodes:
                await publish_root_ca(cluster.registry, _certificate(values).read_text())
                await exits.enter_async_context(simulated(cluster, workload_options(nodes, ())))
            await exits.enter_async_context(
                serve_on(listener, handler, ssl=context, authenticate=handler.authenticate, answers_too_large=True)
            )
            await stop.requested.wait()


def simulated_nodes(environment: Mapping[str, str]) -> int:
    """How many nodes the environment of a suite asks for: PILOTAGE_NODES, with PILOTAGE_WORKLOADS=1; else 0.

    Raises CommandError.
    """
    if environment.get("PILOTAGE_WORKLOADS", "").lower() not in ("1", "true", "yes", "on"):
        return 0
    text = environment.get("PILOTAGE_NODES", "") or str(NODES)
    if not text.isdigit() or not int(text):
        raise CommandError(f"PILOTAGE_NODES={text}: must be a number of nodes, such as 3")
    return int(text)


def serve_options(values: Mapping[str, str]) -> ServeOptions:
    """The flags as those of `pilotage serve`. Raises CommandError."""
    disabled = _names(values, "disable-admission-plugins")
    default = () if "ServiceAccount" in disabled else ("ServiceAccount",)
    return ServeOptions(
        token_auth_file=_path(values, "token-auth-file"),
        client_ca_file=_path(values, "client-ca-file"),
        anonymous_auth=values.get("anonymous-auth", "true").lower() == "true",
        enable_admission_plugins=(*_names(values, "enable-admission-plugins"), *default),
        disable_admission_plugins=disabled,
        service_cluster_ip_range=_names(values, "service-cluster-ip-range") or (_SERVICE_RANGE,),
        audit_log_path=values.get("audit-log-path", ""),
        audit_policy_file=_path(values, "audit-policy-file"),
        audit_log_maxsize=int(values.get("audit-log-maxsize", "100")),
        audit_log_maxbackup=int(values.get("audit-log-maxbackup", "0")),
    )


def server_context(values: Mapping[str, str]) -> ssl.SSLContext:
    """The certificate of the flags. One that is missing in `--cert-dir` is created there, as kube-apiserver does."""
    certificate = _certificate(values)
    key = _path(values, "tls-private-key-file") or certificate.with_suffix(".key")
    try:
        if "tls-cert-file" not in values and not certificate.exists():
            certificate.parent.mkdir(parents=True, exist_ok=True)
            _create(certificate, key, values.get("bind-address", "localhost"))
        return tls.server_context(str(certificate), str(key))
    except OSError as error:  # an SSLError, too
        raise CommandError(f"cannot use the certificate {certificate}: {error.strerror or error}") from error


def _certificate(values: Mapping[str, str]) -> Path:
    return _path(values, "tls-cert-file") or Path(values.get("cert-dir", "/var/run/kubernetes")) / "apiserver.crt"


def _create(certificate: Path, key: Path, host: str) -> None:
    now = datetime.now(UTC)
    authority = certificates.authority(now)
    issued = certificates.issue(authority, host, now)
    certificate.write_bytes(issued.certificate + authority.certificate)
    key.touch(mode=0o600)
    key.write_bytes(issued.key)


def _cluster(options: ServeOptions, controllers: tuple[str, ...]) -> Cluster:
    enable, disable = options.enable_admission_plugins, options.disable_admission_plugins
    enabled(enable, disable)  # raises InvalidDefinition for an unknown name, before anything is opened
    return Cluster.embedded(
        enable_admission_plugins=enable,
        disable_admission_plugins=disable,
        service_cluster_ip_range=options.service_cluster_ip_range,
        controllers=controllers,
    )


def _names(values: Mapping[str, str], name: str) -> tuple[str, ...]:
    return tuple(word for word in values.get(name, "").split(",") if word)


def _path(values: Mapping[str, str], name: str) -> Path | None:
    return Path(values[name]) if values.get(name) else None
