"""Whether the storage and the tenant of a command exist. Only `create` and `apply` create a tenant that is named; the
tenant `default` is created by the first write."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pilotage.kit.arguments.planning import Plan
from pilotage.kit.console.errors import CommandError
from pilotage.kit.exits import NoTenant
from pilotage.server.tenants import prefix_of, tenants
from pilotage.storage import open_storage
from pilotage.storage.interface import Storage

DEFAULT_TENANT = "default"


async def tenant_exists(plan: Plan) -> bool:
    """Whether the tenant of a command has objects. Raises NoTenant, unless the command may create it."""
    try:
        return await check_tenant(plan.where.storage, plan.where.tenant)
    except NoTenant:
        if plan.needs_tenant:
            raise
        return False


async def check_tenant(url: str, tenant: str) -> bool:
    """Whether the tenant has objects. Raises NoTenant for any tenant but the default one, which is empty at first."""
    if is_missing_file(url):
        return _is_default(tenant, [])
    async with opened(url) as storage:
        return await has_tenant(storage, tenant)


async def tenants_of(url: str) -> list[str]:
    """The names of the tenants of a storage; none if it is a file that does not exist."""
    if is_missing_file(url):
        return []
    async with opened(url) as storage:
        return await tenants(storage)


@asynccontextmanager
async def opened(url: str) -> AsyncIterator[Storage]:
    """The storage of a URL, open inside the block."""
    storage = await open_storage(url)
    try:
        yield storage
    finally:
        await storage.close()


async def has_tenant(storage: Storage, tenant: str) -> bool:
    """The same for an open storage."""
    if (await storage.list(prefix_of(tenant), limit=1)).entries:
        return True
    return _is_default(tenant, await tenants(storage))


def is_missing_file(url: str) -> bool:
    """Whether a storage is a SQLite file that does not exist. Raises StorageError if that cannot be found out: a file
    that cannot be reached is not an empty storage."""
    scheme, _, path = url.partition(":")
    if scheme != "sqlite" or not path:
        return False
    from pilotage.storage.sqlite.file import exists

    return not exists(path)


def check_file(plan: Plan) -> None:
    """Refuse a SQLite file that does not exist, where that is a mistake. Raises CommandError."""
    if plan.needs_file:
        check_exists(plan.where.storage)


def check_exists(url: str) -> None:
    """Refuse a SQLite file that does not exist: a command that reads must not create one. Raises CommandError."""
    if is_missing_file(url):
        raise CommandError(
            f"there is no storage {url}; `pilotage create`, `apply`, `run` or `serve` creates it, or a tool"
        )


def _is_default(tenant: str, found: list[str]) -> bool:
    if tenant != DEFAULT_TENANT:
        there_are = f"there are: {', '.join(found)}" if found else "the storage is empty"
        raise NoTenant(f'there is no tenant "{tenant}"; {there_are}. The commands create and apply create a tenant')
    return False
