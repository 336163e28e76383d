"""kubectl where the machine has none: the commands of `pilotage`, with kubectl's flags for a server and credentials."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

_CLUSTER = {"--server": "server", "--certificate-authority": "certificate-authority"}
_USER = {"--client-certificate": "client-certificate", "--client-key": "client-key", "--token": "token"}
_LEFT_OUT = ("--request-timeout",)
"""Flags that the commands do not have, and that do not change what they do."""


def main(words: Sequence[str]) -> int:
    """Run the command line, and return the exit code."""
    from pilotage import cli

    others, flags = divided(words)
    if not flags:
        return cli.main(others)
    with kubeconfig(flags) as path:
        return cli.main([f"--kubeconfig={path}", *others])


def divided(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The words without the flags for a server and credentials, and these flags: `--name=value` or `--name value`."""
    others: list[str] = []
    flags: dict[str, str] = {}
    remaining = iter(words)
    for word in remaining:
        name, equals, value = word.partition("=")
        if name == "--":
            return [*others, word, *remaining], flags
        if name not in (*_CLUSTER, *_USER, *_LEFT_OUT):
            others.append(word)
            continue
        value = value if equals else next(remaining, "")
        if name not in _LEFT_OUT:
            flags[name] = value
    return others, flags


@contextmanager
def kubeconfig(flags: dict[str, str]) -> Iterator[Path]:
    """A kubeconfig with the values of the flags, readable by its owner alone, for the length of the block."""
    cluster = {field: flags[name] for name, field in _CLUSTER.items() if name in flags}
    user = {field: flags[name] for name, field in _USER.items() if name in flags}
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "flags", "cluster": cluster}],
        "users": [{"name": "flags", "user": user}],
        "contexts": [{"name": "flags", "context": {"cluster": "flags", "user": "flags"}}],
        "current-context": "flags",
    }
    descriptor, name = tempfile.mkstemp(prefix="pilotage-kubeconfig-")  # mode 0600
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(document, file)
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
