"""A SQLite file without an event loop, for commands that read, and for those that write and leave no work behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from pilotage.kit.execution import checked_function, without_storage_log
from pilotage.kit.kinds import has_versions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pilotage.cluster.light import LightCluster
    from pilotage.kit.arguments.flags import Arguments
    from pilotage.kit.arguments.planning import Plan, Where
    from pilotage.kit.execution import Program
    from pilotage.meta.models import Resource


def performed(plan: Plan, program: Program, options: Arguments) -> int | None:
    """Run a command on the file; its exit code. None if it needs an event loop, which takes longer to load than most
    commands take."""
    from pilotage.kit.routes.tenancy import check_file
    from pilotage.kit.session import session_over

    check_file(plan)
    kinds = program.own_kinds
    if program.setup is not None and has_versions(kinds):
        return None  # its conversions must be known before a CRD is installed
    run = checked_function(plan.command, options)
    with without_storage_log() if plan.command.writes else nullcontext(), _opened(plan, program, kinds) as cluster:
        if cluster is None:
            return None

        async def in_session() -> int:
            return await run(await session_over(cluster.transport, plan, program, options), options)

        return cluster.run(in_session())


@contextmanager
def _opened(plan: Plan, program: Program, kinds: Sequence[type[Resource]]) -> Iterator[LightCluster | None]:
    if plan.command.writes:
        with writing(plan.where, kinds, program.namespace) as cluster:
            yield cluster
    else:
        with reading(plan.where, kinds) as cluster:
            yield cluster


@contextmanager
def reading(where: Where, kinds: Sequence[type[Resource]]) -> Iterator[LightCluster]:
    """The storage without an event loop; an empty one if the tenant does not exist: to look for objects must create
    neither a tenant nor a file. Raises NoTenant."""
    from pilotage.cluster.light import LightCluster
    from pilotage.kit.routes.tenancy import has_tenant, is_missing_file

    if not is_missing_file(where.storage):
        with _cluster(where, kinds) as cluster:
            if cluster.run(has_tenant(cluster.storage, where.tenant)):
                yield cluster
                return
    with LightCluster("memory:", kinds=kinds, tenant=where.tenant) as cluster:
        cluster.run(has_tenant(cluster.storage, where.tenant))
        yield cluster


@contextmanager
def writing(where: Where, kinds: Sequence[type[Resource]], namespace: str = "default") -> Iterator[LightCluster | None]:
    """The storage without an event loop, for writes; None if they need one: to create the tenant or the namespace, or
    to call webhooks."""
    from pilotage.kit.exits import NoTenant
    from pilotage.kit.routes.embedded import has_namespace
    from pilotage.kit.routes.tenancy import has_tenant, is_missing_file

    if is_missing_file(where.storage):
        yield None
        return
    with _cluster(where, kinds) as cluster:

        async def is_enough() -> bool:
            try:
                exists = await has_tenant(cluster.storage, where.tenant)
            except NoTenant:
                return False
            if not exists or await cluster.calls_webhooks():
                return False
            return namespace == "default" or await has_namespace(cluster.client, namespace)

        yield cluster if cluster.run(is_enough()) else None


def _cluster(where: Where, kinds: Sequence[type[Resource]]) -> LightCluster:
    from pilotage.cluster.light import LightCluster

    return LightCluster(where.storage, kinds=kinds, tenant=where.tenant, encryption_keys=where.encryption_keys)
