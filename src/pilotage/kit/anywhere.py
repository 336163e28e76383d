"""The backend of the `pilotage` command: any storage in this process, or any server by a kubeconfig."""

from __future__ import annotations

import argparse
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from pilotage.kit.arguments import COMMANDS
from pilotage.kit.arguments.planning import NEW, Facts
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags import places
from pilotage.kit.execution import checked_function, execute, without_storage_log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from pilotage.kit.arguments.planning import Plan
    from pilotage.kit.console.signals.deadline import ExitDeadline
    from pilotage.kit.session import CommandSession
    from pilotage.rest.transport import Transport
    from pilotage.storage.interface import Storage


def register(subparsers: Any, name: str) -> None:
    """Add a command to the command line of `pilotage`."""
    command = COMMANDS[name]
    parser = command.add_parser(subparsers)
    parser.set_defaults(run=partial(execute, Anywhere(), command))
    group = parser.add_argument_group("where it works")  # as the flags of `pilotage run`
    places.add_storage(group, f"a storage: {places.STORAGES}")
    places.add_tenant(group)
    places.add_encryption_keys(group)
    places.add_kubeconfig(group)


class Anywhere:
    """The storage or server that the flags or their environment variables (PILOTAGE_STORAGE and others) select."""

    ends_process = True

    def facts(self, options: argparse.Namespace) -> Facts:
        if options.kubeconfig or options.context:
            if options.storage:
                raise CommandError("--storage is a storage, --kubeconfig and --context are a server: give one")
            return Facts("")  # the flags win over the variable
        return Facts(_chosen(options, "storage"))

    def print_stored(self, options: argparse.Namespace) -> int | None:
        from pilotage.kit import direct
        from pilotage.kit.kinds import Visible
        from pilotage.types.names import builtin_names

        visible = Visible(None, builtin_names())
        namespace = options.namespace or "default"
        return direct.get(_chosen(options, "storage"), _tenant(options), namespace, visible, options)

    def perform_now(self, plan: Plan, options: argparse.Namespace) -> int | None:
        from pilotage.kit import light
        from pilotage.kit.tenancy import check_exists

        storage, tenant, keys = _chosen(options, "storage"), _tenant(options), _chosen(options, "encryption_keys")
        if plan.missing != NEW:
            check_exists(storage)
        run = checked_function(plan.command, options)
        opened = light.writing if plan.command.writes else light.reading
        with without_storage_log(), opened(storage, (), tenant, keys) as cluster:
            if cluster is None:
                return None

            async def in_session() -> int:
                return await run(await _open(cluster.transport, options, "default", storage), options)

            return cluster.run(in_session())

    async def perform(self, plan: Plan, options: argparse.Namespace, deadline: ExitDeadline) -> int:
        run = checked_function(plan.command, options)
        async with self._session(plan, options) as session:
            return await run(session, options)

    @asynccontextmanager
    async def _session(self, plan: Plan, options: argparse.Namespace) -> AsyncIterator[CommandSession]:
        storage = self.facts(options).storage
        if storage:
            async with _stored(storage, plan, options) as transport:
                yield await _open(transport, options, "default", storage)
            return
        kubeconfig, context = _chosen(options, "kubeconfig"), _chosen(options, "context")
        async with _served(kubeconfig, context) as (transport, namespace):
            yield await _open(transport, options, namespace, "")


def _chosen(options: argparse.Namespace, flag: str) -> str:
    return getattr(options, flag, "") or os.environ.get(f"PILOTAGE_{flag.upper()}", "")


def _tenant(options: argparse.Namespace) -> str:
    return _chosen(options, "tenant") or "default"


@asynccontextmanager
async def _stored(url: str, plan: Plan, options: argparse.Namespace) -> AsyncIterator[Transport]:
    """A storage. If the tenant does not exist: one in which it seems to, for a command that may create it, else an
    empty one. Raises NoTenant."""
    from pilotage.cluster import Cluster
    from pilotage.kit.embedded import PrintingTransport, completed, reading
    from pilotage.kit.tenancy import check_exists, tenant_exists

    if plan.missing != NEW:
        check_exists(url)
    tenant, keys = _tenant(options), _chosen(options, "encryption_keys")
    exists = await tenant_exists(plan, url, tenant)
    if not plan.command.writes:
        async with reading(url, tenant, (), keys) as transport:
            assert transport is not None  # no kinds, so none is missing
            yield transport
        return
    async with AsyncExitStack() as exits:
        storage: str | Storage = url if exists else "memory:"
        if not exists and plan.missing == NEW:
            from pilotage.kit.newtenant import new_tenant

            storage = new = await exits.enter_async_context(new_tenant(url, tenant))
            exits.enter_context(new.writing())
        cluster = await exits.enter_async_context(Cluster.embedded(storage, tenant=tenant, encryption_keys=keys))
        async with completed(cluster):
            yield PrintingTransport(cluster.transport, cluster.registry)


@asynccontextmanager
async def _served(kubeconfig: str, context: str) -> AsyncIterator[tuple[Transport, str]]:
    from pilotage.client import config
    from pilotage.client.transport.http import HTTPTransport

    try:
        found = config.load(kubeconfig, context)
    except config.NotConfigured as error:
        raise CommandError(
            "no server: give --storage sqlite:PATH for a storage, or --kubeconfig FILE for a server (KUBECONFIG is not "
            "set, there is no ~/.kube/config, and this is not a Pod)"
        ) from error
    async with HTTPTransport.from_config(found) as transport:
        yield transport, found.namespace or "default"


async def _open(transport: Transport, options: argparse.Namespace, namespace: str, storage: str) -> CommandSession:
    from pilotage.kit.logfile import log_file_of
    from pilotage.kit.session import CommandSession

    log_file = log_file_of(storage, _tenant(options))
    return await CommandSession.open(transport, options, namespace, "pilotage", log_file)
