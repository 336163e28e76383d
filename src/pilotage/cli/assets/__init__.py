"""`pilotage assets`: the programs that envtest starts, as launchers of the embedded API server."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pilotage.kit.console.help import add_command


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command = add_command(
        subparsers,
        "assets",
        "write the programs that envtest starts: kube-apiserver, etcd and kubectl",
        "Write launchers named kube-apiserver, etcd and kubectl into a folder. A suite in Go, Java or Rust that starts "
        "the programs of KUBEBUILDER_ASSETS then runs on the embedded API server, which stores objects in memory. With "
        "PILOTAGE_WORKLOADS=1 in the environment of the suite, workloads behave as in a cluster of PILOTAGE_NODES "
        "simulated nodes (default: 3), and the controllers of kube-controller-manager run. Without it, no controller "
        "runs, as in envtest.",
        "pilotage assets .envtest && KUBEBUILDER_ASSETS=$PWD/.envtest go test ./...",
        run=run,
    )
    command.add_argument("folder", metavar="DIR", type=Path, help="the folder, which is created if it does not exist")


def run(options: argparse.Namespace) -> int:
    """Write the launchers, print how to use them, and return the exit code."""
    from pilotage.cli.assets.launchers import write_launchers

    for path in write_launchers(options.folder):
        print(f"write {path}")
    print(f"next:\n  KUBEBUILDER_ASSETS={options.folder.resolve()} go test ./...")
    return 0
