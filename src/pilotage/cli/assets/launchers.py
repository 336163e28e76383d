"""The launchers: small shell scripts, and a link to the kubectl of this machine."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

from pilotage.cli.assets import etcd
from pilotage.cli.assets.flags import help_text
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import reported
from pilotage.server.http.handler import KUBERNETES_VERSION

_MARK = "# Written by `pilotage assets`.\n"
"""The second line of each script. Only a file that has it may be replaced."""
_ETCD_HELP = """\
Usage: etcd [flags]

Answers /health for envtest; objects are stored in the memory of kube-apiserver.

  --listen-client-urls string   where to answer
  --unsafe-no-fsync             no effect
"""


def write_launchers(folder: Path, interpreter: str = sys.executable) -> list[Path]:
    """Write the launchers, which use this Python with the packages of its environment. Raises CommandError."""
    with reported(f"cannot write to {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        found = _kubectl(folder)
        scripts = {
            "kube-apiserver": _script(
                help_text(),
                f"Kubernetes {KUBERNETES_VERSION}\n",
                [interpreter, "-I", "-m", "pilotage.cli.assets.apiserver"],
            ),
            "etcd": _script(_ETCD_HELP, "etcd Version: 3.6.0\n", [interpreter, "-I", "-S", str(Path(etcd.__file__))]),
            "kubectl": "" if found else _script("", "", [interpreter, "-I", "-m", "pilotage.cli.assets.kubectl"]),
        }
        for name, text in scripts.items():
            _replace(folder / name, text, found)
    return [folder / name for name in scripts]


def _script(help_of: str, version: str, command: list[str]) -> str:
    """A shell script that runs the command. It answers `--help` itself: envtest asks each program for it first."""
    answers = [_answer("--help", help_of), _answer("--version", version)] if help_of else []
    return "\n".join(["#!/bin/sh", _MARK.rstrip(), *answers, f'exec {shlex.join(command)} "$@"', ""])


def _answer(flag: str, text: str) -> str:
    return f"case \" $* \" in *' {flag} '*) cat <<'END'\n{text}END\nexit 0;; esac"


def _kubectl(folder: Path) -> str | None:
    """The kubectl on PATH, which is not one of ours."""
    own = os.path.realpath(folder)
    paths = [each for each in os.get_exec_path() if os.path.realpath(each) != own]
    found = shutil.which("kubectl", path=os.pathsep.join(paths))
    return None if found is None or _is_ours(Path(found)) else os.path.abspath(found)


def _replace(path: Path, text: str, target: str | None) -> None:
    """Write a script, or a link where there is no text."""
    if path.is_dir() or (path.exists() and not path.is_symlink() and not _is_ours(path)):
        raise CommandError(f"{path} exists and was not written by `pilotage assets`; give another folder")
    path.unlink(missing_ok=True)
    if text:
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
    else:
        assert target is not None
        path.symlink_to(target)


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        return _MARK.encode() in file.read(200)
