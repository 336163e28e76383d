"""The flags that choose where a command works: a storage with a tenant and keys, or a server. Declared once for all
commands. A default of None leaves the choice to an environment variable."""

from __future__ import annotations

import argparse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

FLAGS = ("-n", "--namespace", "--storage", "--tenant", "--encryption-keys", "--kubeconfig", "--context")
"""All of them. They may stand before the command, too."""
STORAGES = "sqlite:PATH or etcd://HOST:PORT"
ALL_STORAGES = f"memory: (lost on exit), {STORAGES}"


def suggest(action: argparse.Action, words: Sequence[str] | None) -> None:
    """Set what shells suggest for the value of an option: these words, or (None) what the storage has."""
    action.suggestions = words  # type: ignore[attr-defined]


def add_storage(
    group: argparse._ActionsContainer, about: str, *, default: str | None = None, required: bool = False
) -> None:
    group.add_argument("--storage", default=default, required=required, metavar="URL", help=about)


def add_tenant(group: argparse._ActionsContainer, *, default: str | None = None) -> None:
    tenant = group.add_argument(
        "--tenant",
        default=default,
        metavar="NAME",
        help="the tenant of the storage; tenants are isolated from each other (default: default)",
    )
    suggest(tenant, None)


def add_encryption_keys(group: argparse._ActionsContainer, *, required: bool = False) -> None:
    group.add_argument(
        "--encryption-keys",
        default=None,
        required=required,
        metavar="FILE",
        help="the keys that Secrets are encrypted with: a file, or exec:COMMAND that prints them",
    )


def add_kubeconfig(group: argparse._ActionsContainer) -> None:
    group.add_argument(
        "--kubeconfig",
        default=None,
        metavar="FILE",
        help="the server of a kubeconfig (default: $KUBECONFIG, the cluster of the Pod, ~/.kube/config)",
    )
    group.add_argument(
        "--context", default=None, metavar="NAME", help="a context of the kubeconfig (default: its current context)"
    )
