"""The backend of the `pilotage` command: any storage in this process, or any server by a kubeconfig."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from pilotage.kit.arguments import COMMANDS
from pilotage.kit.arguments.planning import NEW, Facts, Where
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
        where = Where.chosen(options, "PILOTAGE")
        if options.kubeconfig or options.context:
            if options.storage:
                raise CommandError("--storage is a storage, --kubeconfig and --context are a server: give one")
            return Facts(Where("", kubeconfig=where.kubeconfig, context=where.context))  # flags win over the variable
        return Facts(where)

    def print_stored(self, plan: Plan, options: argparse.Namespace) -> int | None:
        from pilotage.kit import direct
        from pilotage.kit.kinds import Visible
        from pilotage.types.names import builtin_names

        visible = Visible(None, builtin_names())
        return direct.get(plan.where, options.namespace or "default", visible, options)

    def perform_now(self, plan: Plan, options: argparse.Namespace) -> int | None:
        from pilotage.kit import light
        from pilotage.kit.tenancy import check_exists

        if plan.needs_tenant or plan.missing != NEW:
            check_exists(plan.where.storage)
        run = checked_function(plan.command, options)
        opened = light.writing if plan.command.writes else light.reading
        with without_storage_log(), opened(plan.where, ()) as cluster:
            if cluster is None:
                return None

            async def in_session() -> int:
                return await run(await _open(cluster.transport, plan, options), options)

            return cluster.run(in_session())

    async def perform(self, plan: Plan, options: argparse.Namespace, deadline: ExitDeadline) -> int:
        run = checked_function(plan.command, options)
        if plan.where.storage:
            async with _stored(plan) as transport:
                return await run(await _open(transport, plan, options), options)
        async with _served(plan.where) as (transport, namespace):
            return await run(await _open(transport, plan, options, namespace), options)


@asynccontextmanager
async def _stored(plan: Plan) -> AsyncIterator[Transport]:
    """A storage. If the tenant does not exist: one in which it seems to, for a command that may create it, else an
    empty one. Raises NoTenant."""
    from pilotage.cluster import Cluster
    from pilotage.kit.embedded import PrintingTransport, completed, reading
    from pilotage.kit.tenancy import check_exists, tenant_exists

    url, tenant, keys = plan.where.storage, plan.where.tenant, plan.where.encryption_keys
    if plan.needs_tenant or plan.missing != NEW:
        check_exists(url)
    exists = await tenant_exists(plan)
    if not plan.command.writes:
        async with reading(plan.where, ()) as transport:
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
async def _served(where: Where) -> AsyncIterator[tuple[Transport, str]]:
    from pilotage.client import config
    from pilotage.client.transport.http import HTTPTransport

    try:
        found = config.load(where.kubeconfig, where.context)
    except config.NotConfigured as error:
        raise CommandError(
            "no server: give --storage sqlite:PATH for a storage, or --kubeconfig FILE for a server (KUBECONFIG is not "
            "set, there is no ~/.kube/config, and this is not a Pod)"
        ) from error
    async with HTTPTransport.from_config(found) as transport:
        yield transport, found.namespace or "default"


async def _open(
    transport: Transport, plan: Plan, options: argparse.Namespace, namespace: str = "default"
) -> CommandSession:
    from pilotage.kit.recorded.logfile import log_file_of
    from pilotage.kit.session import CommandSession

    log_file = log_file_of(plan.where.storage, plan.where.tenant)
    return await CommandSession.open(transport, options, namespace, "pilotage", log_file)
