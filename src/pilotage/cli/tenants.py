"""`pilotage tenants`: the tenants of a storage."""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.flags import places
from pilotage.kit.console.help import add_command

if TYPE_CHECKING:
    from pilotage.storage.interface import Storage

T = TypeVar("T")


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    parser = add_command(
        subparsers,
        "tenants",
        "list or delete the tenants of a storage",
        "List the tenants of a storage, or delete one with all of its objects. Tenants share a storage and "
        "are isolated from each other. A tenant is created when a program opens it.",
        "pilotage tenants list --storage sqlite:demo.db",
        "pilotage tenants delete team-a --storage sqlite:demo.db",
    )
    actions = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    listing = add_command(
        actions,
        "list",
        "print the names of the tenants",
        "Print the names of the tenants of a storage, one on a line.",
        "pilotage tenants list --storage sqlite:demo.db",
        run=list_tenants,
    )
    deletion = add_command(
        actions,
        "delete",
        "delete a tenant with all of its objects",
        "Delete a tenant with all of its objects. No program may use the tenant meanwhile. Finalizers are "
        "not waited for.",
        "pilotage tenants delete team-a --storage sqlite:demo.db",
        run=delete,
    )
    deletion.add_argument("tenant", metavar="TENANT", help="the name of the tenant")
    for action in (listing, deletion):
        places.add_storage(action, f"the storage: {places.STORAGES}", required=True)


def list_tenants(options: argparse.Namespace) -> int:
    """Print the names, one on a line."""
    from pilotage.server.tenants import tenants

    for name in _on_storage(options.storage, tenants):
        print(name)
    return 0


def delete(options: argparse.Namespace) -> int:
    """Delete one. A name that has no objects is an error: it may be misspelt."""
    from pilotage.cli.serve.credentials import default_path
    from pilotage.kit.recorded import logfile
    from pilotage.server.tenants import delete_tenant

    async def delete_objects(storage: Storage) -> int:
        return await delete_tenant(storage, options.tenant)

    count = _on_storage(options.storage, delete_objects)
    if not count:
        from pilotage.storage import url_without_password

        url = url_without_password(options.storage)
        raise CommandError(f"{url} has no tenant {options.tenant}; see pilotage tenants list --storage {url}")
    logfile.remove(logfile.log_file_of(options.storage, options.tenant))
    if credentials := default_path(options.storage, options.tenant):
        credentials.unlink(missing_ok=True)  # a later tenant of this name must not accept the old token
    from pilotage.meta.text.counts import counted

    print(f"tenant {options.tenant} deleted ({counted(count, 'object')})")
    return 0


def _on_storage(url: str, action: Callable[[Storage], Awaitable[T]]) -> T:
    """Run an action on the storage, which must exist: a misspelt path must not create a file."""
    import asyncio

    from pilotage.kit.routes.tenancy import check_exists, opened

    check_exists(url)

    async def run() -> T:
        async with opened(url) as storage:
            return await action(storage)

    return asyncio.run(run())
