"""The kubeconfig that `pilotage serve` writes: readable by its owner only, never over a file of another program."""

from __future__ import annotations

import base64
import os
from pathlib import Path

from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import reported
from pilotage.meta.text import yamltext

_MARK = b"# Written by `pilotage serve`"
"""The first bytes of each kubeconfig. Only a file that begins with them may be replaced."""
_HEADING = f"{_MARK.decode()}, at each start.\n"


def check_kubeconfig(path: Path) -> None:
    """Reject a path where the kubeconfig cannot be written, or where it would replace another file."""
    if not path.parent.is_dir():
        raise CommandError(f"cannot write the kubeconfig to {path}: directory {path.parent} does not exist")
    if path.is_dir():
        raise CommandError(f"cannot write the kubeconfig to {path}: it is a directory; give the path of a file")
    with reported(f"cannot write the kubeconfig to {path}"):
        replaceable = not path.exists() or _has_mark(path)
    if not replaceable:
        raise CommandError(
            f"cannot write the kubeconfig to {path}: the file exists and was not written by `pilotage serve`; give "
            "another path with --kubeconfig"
        )


def _has_mark(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_MARK)) == _MARK


def write_kubeconfig(path: Path, text: str) -> None:
    """Write the file in one step, with mode 0600: it contains a token."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(_HEADING + text)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise CommandError(f"cannot write the kubeconfig to {path}: {error.strerror}") from error


def kubeconfig_text(url: str, certificate: bytes, token: str) -> str:
    """A kubeconfig as YAML text, with one cluster, one user and one context, all called `pilotage`."""
    cluster = {"server": url, "certificate-authority-data": base64.b64encode(certificate).decode()}
    return yamltext.write(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "pilotage", "cluster": cluster}],
            "users": [{"name": "pilotage", "user": {"token": token}}],
            "contexts": [
                {"name": "pilotage", "context": {"cluster": "pilotage", "user": "pilotage", "namespace": "default"}}
            ],
            "current-context": "pilotage",
        }
    )
