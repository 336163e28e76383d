"""Opens a plan with an event loop: a session on a storage, with the work of a server, or on a server elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial

from pilotage.cluster import Cluster
from pilotage.kit.arguments.flags import Arguments
from pilotage.kit.arguments.planning import CREATED, NEW, REAL, Plan, Where
from pilotage.kit.console.errors import CommandError, Interrupted
from pilotage.kit.console.signals.deadline import ExitDeadline
from pilotage.kit.execution import Program, checked_function
from pilotage.kit.routes.embedded import (
    PrintingTransport,
    completed,
    copied,
    ensure_namespace,
    has_namespace,
    install,
    reading,
)
from pilotage.kit.routes.newtenant import NewTenantStorage, new_tenant
from pilotage.kit.routes.tenancy import check_file, tenant_exists
from pilotage.kit.session import CommandSession, session_over
from pilotage.rest.transport import Transport
from pilotage.storage.interface import Storage

_EMPTY = "memory:"
"""In place of a tenant that does not exist."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """A storage in which reconcilers run beside the command. The kinds are installed when they were set up."""

    session: CommandSession
    cluster: Cluster
    storage: str | NewTenantStorage
    started: asyncio.Event
    """Set when the manager handles signals."""


async def performed(plan: Plan, program: Program, options: Arguments, deadline: ExitDeadline) -> int:
    """Run a command; its exit code. After a signal, it ends by the deadline."""
    run = checked_function(plan.command, options)
    async with opened(plan, program, options) as place:
        if isinstance(place, CommandSession):
            return await run(place, options)
        from pilotage.kit.routes.reconciling import reconciled

        return await reconciled(place, plan, program, options, deadline, run)


@asynccontextmanager
async def opened(plan: Plan, program: Program, options: Arguments) -> AsyncIterator[CommandSession | Reconciled]:
    """Where the command of a plan works. At the end, what follows from its writes is done. Raises NoTenant."""
    async with AsyncExitStack() as exits:
        if not plan.where.storage:
            transport, namespace = await exits.enter_async_context(_served(plan.where))
            yield await session_over(transport, plan, program, options, namespace)
            return
        check_file(plan)
        storage = await _storage(plan, program, exits)
        if storage is plan.where.storage and not plan.writes:
            found = await exits.enter_async_context(reading(plan.where, program.own_kinds, program.audit))
            if found is not None:
                yield await session_over(found, plan, program, options)
                return
        if storage is not _EMPTY and plan.reconciles:
            from pilotage.kit.console.signals.interruption import ended_by_signals

            started = exits.enter_context(ended_by_signals(Interrupted("interrupted")))
            cluster = await _cluster(storage, plan, program, exits, installs=False)
            yield Reconciled(await _session(cluster, plan, program, options), cluster, storage, started)
            return
        cluster = await _cluster(storage, plan, program, exits)
        if plan.writes and storage is not _EMPTY:
            await exits.enter_async_context(completed(cluster))
        session = await _session(cluster, plan, program, options)
        if not isinstance(storage, str):
            exits.enter_context(storage.writing())
        yield session


async def _storage(plan: Plan, program: Program, exits: AsyncExitStack) -> str | NewTenantStorage:
    """The storage for a command: the URL, or what it finds in place of a tenant that does not exist. Raises
    NoTenant."""
    url = plan.where.storage
    if await tenant_exists(plan) or plan.missing == REAL:
        return url
    if plan.missing != NEW:
        return _EMPTY
    setup = None if plan.reconciles else program.setup
    installed = partial(install, kinds=program.own_kinds, setup=setup)
    return await exits.enter_async_context(new_tenant(url, plan.where.tenant, installed, program.namespace))


async def _cluster(
    storage: str | NewTenantStorage, plan: Plan, program: Program, exits: AsyncExitStack, *, installs: bool = True
) -> Cluster:
    """The storage with the server's work, the kinds, unless reconcilers run, and the program's own namespace. A dry run
    creates that in a copy of the storage; a new tenant has it already."""
    cluster = await exits.enter_async_context(embedded(storage, plan, program, installs=installs))
    if not plan.namespace or not isinstance(storage, str):
        return cluster
    if plan.namespace == CREATED:
        await ensure_namespace(cluster.client, program.namespace)
        return cluster
    from pilotage.client import Client

    if storage is not _EMPTY:
        if await has_namespace(cluster.client, program.namespace):
            return cluster
        copy = await copied(storage, plan.where.tenant)
        cluster = await exits.enter_async_context(embedded(copy, plan, program))
    await ensure_namespace(Client(cluster.registry), program.namespace)  # not stored, so not in the audit log
    return cluster


@asynccontextmanager
async def embedded(
    storage: str | Storage, plan: Plan, program: Program, *, installs: bool = True
) -> AsyncIterator[Cluster]:
    """A storage with the server's work, and the kinds of the program."""
    log, policy = program.audit
    async with Cluster.embedded(
        storage,
        tenant=plan.where.tenant,
        encryption_keys=plan.where.encryption_keys,
        audit_log_path=log,
        audit_policy_file=policy,
    ) as cluster:
        if installs:
            await install(cluster, program.own_kinds, program.setup)
        yield cluster


async def _session(cluster: Cluster, plan: Plan, program: Program, options: Arguments) -> CommandSession:
    return await session_over(PrintingTransport(cluster.transport, cluster.registry), plan, program, options)


@asynccontextmanager
async def _served(where: Where) -> AsyncIterator[tuple[Transport, str]]:
    """The server of a kubeconfig, and the namespace of its context."""
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
