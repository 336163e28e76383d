"""Where a program runs: on an API server in this process, or on a cluster."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from pilotage.cli.run.arguments import Flags
from pilotage.cli.serve.options import ServeOptions
from pilotage.cli.serve.server import check_servable, serve_cluster
from pilotage.client import config
from pilotage.cluster import Cluster
from pilotage.errors import ApiError, ConnectionLost, NoCredentials, Timeout
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.terminal import Terminal
from pilotage.meta.models import Resource
from pilotage.storage import open_served_storage, url_without_password
from pilotage.telemetry.logs import logger

log = logger("pilotage.run")


@dataclass(frozen=True, slots=True)
class RunEnvironment:
    """A cluster that is not open yet, and what to print about it."""

    cluster: Cluster
    description: str
    namespace: str = "default"
    """Where objects and Leases go that name no namespace."""


@asynccontextmanager
async def environment_of(flags: Flags) -> AsyncIterator[RunEnvironment]:
    """The cluster that the flags select. A storage that is opened for it is closed at the end of the block."""
    if not flags.storage:
        yield _remote(flags)
        return
    if flags.serve is not None:
        check_servable(_serve_options(flags))  # before a new storage is created
    async with AsyncExitStack() as exits:
        storage = await open_served_storage(flags.storage)
        exits.push_async_callback(storage.close)
        tenant = "" if flags.tenant == "default" else f", tenant {flags.tenant}"
        lost = "; what it stores is lost at the end" if flags.storage == "memory:" else ""
        shown = url_without_password(flags.storage)
        description = f"an API server in this process ({shown}{tenant}{lost})"
        cluster = Cluster.embedded(storage, tenant=flags.tenant, encryption_keys=flags.encryption_keys)
        yield RunEnvironment(cluster, description)


def _remote(flags: Flags) -> RunEnvironment:
    try:
        found = config.load(flags.kubeconfig, flags.context)
    except config.NotConfigured as error:
        raise CommandError(
            "no cluster to run on: give --storage memory: for an API server in this process, or --kubeconfig FILE "
            "for a cluster (KUBECONFIG is not set, there is no ~/.kube/config, and this is not a Pod)"
        ) from error
    description = f"the cluster at {config.without_secrets(found.url)} ({found.source})"
    cluster = Cluster.connect(kubeconfig=flags.kubeconfig, context=flags.context)
    return RunEnvironment(cluster, description, found.namespace or "default")


@asynccontextmanager
async def connect(found: RunEnvironment, terminal: Terminal) -> AsyncIterator[None]:
    """Open the cluster inside the block. Raises CommandError if a remote API server does not answer, or does not accept
    our credentials."""
    cluster = found.cluster
    async with AsyncExitStack() as exits:
        with terminal.working(f"Connecting to {found.description}"):
            await exits.enter_async_context(cluster)
            if cluster.server_url:
                await _check(found)
        yield


async def _check(found: RunEnvironment) -> None:
    try:
        await found.cluster.rest_mapper.discover()
    except NoCredentials as error:
        raise CommandError(str(error)) from error  # it names the kubeconfig and the user
    except (ApiError, ConnectionLost, Timeout) as error:
        hint = "; its credentials are wrong or have expired" if getattr(error, "code", 0) == 401 else ""
        raise CommandError(f"cannot use {found.description}: {error}{hint}") from error


@asynccontextmanager
async def serving(cluster: Cluster, flags: Flags, kinds: Sequence[type[Resource]]) -> AsyncIterator[None]:
    """Serve the embedded cluster for kubectl inside the block, with `--serve`."""
    if flags.serve is None:
        yield
        return
    async with serve_cluster(cluster, _serve_options(flags)) as url:
        log.info("Serving the API server", url=url)
        what = kinds[0].__resource__.plural if kinds else "namespaces"
        log.info(f"Try: kubectl --kubeconfig {flags.serve_kubeconfig} get {what} --all-namespaces")
        yield


def _serve_options(flags: Flags) -> ServeOptions:
    assert flags.serve is not None
    return ServeOptions(
        storage=flags.storage,
        tenant=flags.tenant,
        bind=flags.serve,
        kubeconfig=flags.serve_kubeconfig,
        address_flag="--serve",
    )
