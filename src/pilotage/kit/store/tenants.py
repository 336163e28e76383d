"""The command `tenants`: lists the tenants of a storage, or deletes one."""

from __future__ import annotations

import argparse
import os
from collections.abc import Awaitable, Callable

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.help import add_command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from pilotage.storage.interface import Storage

    T = TypeVar("T")

Run = Callable[[argparse.Namespace], int]


def add_tenants(
    subparsers: Any,
    program: str,
    place: str,
    add_place: Callable[[argparse.ArgumentParser], None],
    url_of: Callable[[argparse.Namespace], str],
    wrapped: Callable[[Run], Run] = lambda run: run,
) -> None:
    """Add the command to a command line. `place` are the options that its examples have, `add_place` adds the flags of
    the storage, and `url_of` reads them; `wrapped` reports errors."""
    parser = add_command(
        subparsers,
        "tenants",
        "list or delete the tenants of a storage",
        "List the tenants of a storage, or delete one with all of its objects. Tenants share a storage and "
        "are isolated from each other. A tenant is created when a program opens it.",
        f"{program} tenants list{place}",
        f"{program} tenants delete team-a{place}",
    )
    actions = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    listing = add_command(
        actions,
        "list",
        "print the names of the tenants",
        "Print the names of the tenants of a storage, one on a line.",
        f"{program} tenants list{place}",
        run=wrapped(lambda options: list_tenants(url_of(options))),
    )
    deletion = add_command(
        actions,
        "delete",
        "delete a tenant with all of its objects",
        "Delete a tenant with all of its objects. No program may use the tenant meanwhile. Finalizers are "
        "not waited for.",
        f"{program} tenants delete team-a{place}",
        run=wrapped(lambda options: delete(url_of(options), options.deleted, program)),
    )
    deletion.add_argument("deleted", metavar="TENANT", help="the name of the tenant")
    for action in (listing, deletion):
        add_place(action)


def list_tenants(url: str) -> int:
    """Print the names, one on a line."""
    from pilotage.server.tenants import tenants

    for name in _on_storage(url, tenants):
        print(name)
    return 0


def delete(url: str, tenant: str, program: str) -> int:
    """Delete one. A name that has no objects is an error: it may be misspelt."""
    from pilotage.kit.recorded import logfile
    from pilotage.meta.text.counts import counted
    from pilotage.server.tenants import delete_tenant
    from pilotage.storage import url_without_password

    async def delete_objects(storage: Storage) -> int:
        return await delete_tenant(storage, tenant)

    count = _on_storage(url, delete_objects)
    if not count:
        shown = url_without_password(url)
        raise CommandError(f"{shown} has no tenant {tenant}; see {program} tenants list --storage {shown}")
    logfile.remove(logfile.log_file_of(url, tenant))
    if credentials := credentials_file(url, tenant):
        from contextlib import suppress

        with suppress(FileNotFoundError):
            os.remove(credentials)  # a later tenant of this name must not accept the old token
    print(f"tenant {tenant} deleted ({counted(count, 'object')})")
    return 0


def credentials_file(storage: str, tenant: str) -> str:
    """The file with the credentials of `pilotage serve`: beside the SQLite file, one for each tenant. Empty for any
    other storage."""
    scheme, _, path = storage.partition(":")
    if scheme != "sqlite":
        return ""
    file = os.path.realpath(os.path.expanduser(path))
    return f"{file}-credentials" if tenant == "default" else f"{file}-credentials-{tenant}"


def _on_storage(url: str, action: Callable[[Storage], Awaitable[T]]) -> T:
    """Run an action on the storage, which must exist: a misspelt path must not create a file."""
    import asyncio

    from pilotage.kit.routes.tenancy import check_exists, opened

    check_exists(url)

    async def run() -> T:
        async with opened(url) as storage:
            return await action(storage)

    return asyncio.run(run())
