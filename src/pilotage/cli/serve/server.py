"""The server of `pilotage serve`: an embedded cluster behind HTTPS, and the kubeconfig for it."""

from __future__ import annotations

import errno
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from pilotage.cli.serve.access import authenticator, client_authorities, trust_clients
from pilotage.cli.serve.audit import audited, check_audit
from pilotage.cli.serve.certificate import ServingCertificate
from pilotage.cli.serve.credentials import ServerCredentials, default_path, load_or_create
from pilotage.cli.serve.kubeconfig import check_kubeconfig, kubeconfig_text, write_kubeconfig
from pilotage.cli.serve.options import ServeOptions
from pilotage.cli.simulated import check_flags, simulated, workload_options
from pilotage.cluster import Cluster
from pilotage.errors import InvalidDefinition
from pilotage.http import certificates, server
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.signals.stop import Stop
from pilotage.kit.console.terminal import BOLD, DIM, GREEN, standard_error, standard_output
from pilotage.kubernetes.bootstrap.publication import publish_authentication, publish_root_ca
from pilotage.net.sockets import address_text
from pilotage.server.http.handler import HTTPHandler
from pilotage.storage import open_served_storage, url_without_password


async def serve(options: ServeOptions) -> None:
    """Serve until SIGINT or SIGTERM. The line that begins with `serving` is printed once requests are answered.

    On the first signal watches end at once and other requests have ten seconds. A second signal ends these too.
    """
    check_servable(options)  # before a new storage is created
    check_flags("--workloads", options.workloads, options.nodes, options.fault, options.stages)
    _keep_freed_memory()
    plugins = _admission_plugins(options)
    output, progress = standard_output(), standard_error()
    with Stop.on_signals() as stop:
        async with AsyncExitStack() as exits:
            shown = url_without_password(options.storage)
            with progress.working(f"Opening {shown}"):
                storage = await open_served_storage(options.storage, max_history_bytes=options.max_history)
            exits.push_async_callback(storage.close)
            cluster = await exits.enter_async_context(
                Cluster.embedded(
                    storage,
                    tenant=options.tenant,
                    enable_admission_plugins=plugins,
                    disable_admission_plugins=options.disable_admission_plugins,
                    encryption_keys=options.encryption_keys,
                    service_cluster_ip_range=options.service_cluster_ip_range,
                    controllers=options.controllers,
                )
            )
            with progress.working("Creating certificates"):
                url = await exits.enter_async_context(serve_cluster(cluster, options))
            wanted = workload_options(options.nodes, options.fault, options.stages) if options.workloads else None
            await exits.enter_async_context(simulated(cluster, wanted))
            where = f"{shown} at {output.styled(url, BOLD)}"
            output.line(f"{output.styled('serving', GREEN)} {where}; press Ctrl-C to stop")
            output.line(f"{output.styled('try:', DIM)} kubectl --kubeconfig {options.kubeconfig} get namespaces")
            await stop.requested.wait()
            output.line("stopping")


def check_servable(options: ServeOptions) -> None:
    """Raise CommandError if the kubeconfig or certificates cannot be written, or the audit policy cannot be used."""
    check_audit(options)
    check_kubeconfig(options.kubeconfig)
    certificates.check_available()


@asynccontextmanager
async def serve_cluster(cluster: Cluster, options: ServeOptions) -> AsyncIterator[str]:
    """Serve an embedded cluster over HTTPS inside the block, at the URL, and write the kubeconfig for it."""
    async with AsyncExitStack() as exits:
        credentials = load_or_create(options.credentials or default_path(options.storage, options.tenant))
        users = authenticator(options, credentials.token, cluster.registry.context)
        handler = HTTPHandler(cluster.registry, users, exits.enter_context(audited(options)))
        await publish_root_ca(cluster.registry, credentials.authority.certificate.decode())
        running = await _start_server(options, handler, credentials, exits)
        await publish_authentication(cluster.registry, client_authorities(options))
        url = f"https://{address_text(options.bind[0], running.port)}"
        authority = credentials.authority.certificate
        write_kubeconfig(options.kubeconfig, kubeconfig_text(url, authority, credentials.token))
        yield url


def _keep_freed_memory() -> None:
    """Let the allocator keep 16 MiB that a large list has left free.

    Else it returns them to the kernel, which clears each page again for the next list: half of the time of a list.
    """
    bytearray(8 * 1024 * 1024)  # glibc keeps twice the size of the largest block that was freed


def _admission_plugins(options: ServeOptions) -> tuple[str, ...]:
    """The plugins to enable: a cluster has ServiceAccount on, which an embedded one has off."""
    from pilotage.kubernetes.plugins import enabled

    try:
        enabled(options.enable_admission_plugins, options.disable_admission_plugins)
    except InvalidDefinition as error:
        raise CommandError(str(error)) from error
    default = [name for name in ("ServiceAccount",) if name not in options.disable_admission_plugins]
    return (*options.enable_admission_plugins, *default)


async def _start_server(
    options: ServeOptions, handler: HTTPHandler, credentials: ServerCredentials, exits: AsyncExitStack
) -> server.Server:
    """Start to listen. The certificate is renewed until `exits` closes."""
    certificate = ServingCertificate(credentials, options.bind[0])
    trust_clients(certificate.context, options)
    await exits.enter_async_context(certificate.renewal())
    listening = server.serve(
        handler,
        *options.bind,
        ssl=certificate.context,
        authenticate=handler.authenticate,
        answers_too_large=True,
    )
    try:
        return await exits.enter_async_context(listening)
    except OSError as error:
        raise CommandError(listen_failure(options, error)) from error


def listen_failure(options: ServeOptions, error: OSError) -> str:
    """The message for an address that cannot be used, and what to do."""
    reason = (error.strerror or str(error)).partition(" (while")[0]
    text = f"cannot listen on {address_text(*options.bind)}: {reason}"
    if error.errno == errno.EADDRINUSE:
        text += f"; stop the process that uses it, or give another address with {options.address_flag}"
        text += " (port 0 selects a free port)"
    return text
