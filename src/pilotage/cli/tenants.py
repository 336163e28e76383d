"""`pilotage tenants`: the tenants of a storage."""

from __future__ import annotations

from typing import Any

from pilotage.kit.console.flags import storages
from pilotage.kit.store.tenants import add_tenants


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    add_tenants(
        subparsers,
        "pilotage",
        " --storage sqlite:demo.db",
        lambda parser: storages.add_storage(parser, f"the storage: {storages.STORAGES}", required=True),
        lambda options: str(options.storage),
    )
