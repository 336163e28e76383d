"""A SQLite file without an event loop, for commands that read, and for those that write and leave no work behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pilotage.cluster.light import LightCluster
    from pilotage.kit.arguments.planning import Where
    from pilotage.meta.models import Resource


@contextmanager
def reading(where: Where, kinds: Sequence[type[Resource]]) -> Iterator[LightCluster]:
    """The storage without an event loop; an empty one if the tenant does not exist: to look for objects must create
    neither a tenant nor a file. Raises NoTenant."""
    from pilotage.cluster.light import LightCluster
    from pilotage.kit.tenancy import has_tenant, is_missing_file

    if not is_missing_file(where.storage):
        with _opened(where, kinds) as cluster:
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
    from pilotage.kit.embedded import has_namespace
    from pilotage.kit.exits import NoTenant
    from pilotage.kit.tenancy import has_tenant, is_missing_file

    if is_missing_file(where.storage):
        yield None
        return
    with _opened(where, kinds) as cluster:

        async def is_enough() -> bool:
            try:
                exists = await has_tenant(cluster.storage, where.tenant)
            except NoTenant:
                return False
            if not exists or await cluster.calls_webhooks():
                return False
            return namespace == "default" or await has_namespace(cluster.client, namespace)

        yield cluster if cluster.run(is_enough()) else None


def _opened(where: Where, kinds: Sequence[type[Resource]]) -> LightCluster:
    from pilotage.cluster.light import LightCluster

    return LightCluster(where.storage, kinds=kinds, tenant=where.tenant, encryption_keys=where.encryption_keys)
