"""The flags that choose where a command works: a storage with a tenant and keys, or a server. Declared once for all
commands. A default of None leaves the choice to an environment variable."""

from __future__ import annotations

import argparse

from pilotage.kit.console.flags import add_value

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
    add_value(group, "--storage", "URL", about, default, required=required)


def add_tenant(group: argparse._ActionsContainer, *, default: str | None = None) -> None:
    tenant = add_value(
        group,
        "--tenant",
        "NAME",
        "the tenant of the storage; tenants are isolated from each other (default: default)",
        default,
    )
    suggest(tenant, None)


def add_encryption_keys(group: argparse._ActionsContainer, *, required: bool = False) -> None:
    add_value(
        group,
        "--encryption-keys",
        "FILE",
        "the keys that Secrets are encrypted with: a file, or exec:COMMAND that prints them",
        None,
        required=required,
        type=_keys,
    )


def add_kubeconfig(group: argparse._ActionsContainer) -> None:
    add_value(
        group,
        "--kubeconfig",
        "FILE",
        "the server of a kubeconfig (default: $KUBECONFIG, the cluster of the Pod, ~/.kube/config)",
        None,
    )
    add_value(group, "--context", "NAME", "a context of the kubeconfig (default: its current context)", None)


def _keys(text: str) -> str:
    """The value of --encryption-keys. Empty, as a variable that is not set, it would leave Secrets unencrypted."""
    if not text:
        raise argparse.ArgumentTypeError("the value is empty: give a file or exec:COMMAND, or leave the option out")
    return text
