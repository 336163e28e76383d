"""`pilotage serve`: the embedded API server over HTTPS, for kubectl and other clients."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pilotage.cli import placeflags
from pilotage.cli.flagtypes import address, count, names, size
from pilotage.cli.help import examples


def register(subparsers: Any) -> None:
    """Add the command to the command line."""
    command: argparse.ArgumentParser = subparsers.add_parser(
        "serve",
        help="serve the embedded API server over HTTPS, for kubectl",
        description="Serve the embedded API server over HTTPS until Ctrl-C or SIGTERM. The command writes a kubeconfig "
        "with its certificate authority and a token. It stores both beside the SQLite file, so that clients work after "
        "a restart.",
        epilog=examples(
            "pilotage serve --storage sqlite:demo.db",
            "pilotage serve --bind 127.0.0.1:0 --kubeconfig /tmp/kubeconfig",
        ),
    )
    _add_storage_options(command)
    _add_address_options(command)
    _add_access_options(command)
    _add_admission_options(command)
    _add_audit_options(command)
    command.set_defaults(run=run)


def _add_storage_options(command: argparse.ArgumentParser) -> None:
    placeflags.add_storage(
        command, f"where to store objects: {placeflags.ALL_STORAGES} (default: %(default)s)", default="memory:"
    )
    placeflags.add_tenant(command, default="default")
    placeflags.add_encryption_keys(command)
    command.add_argument(
        "--max-history",
        type=size,
        default="64Mi",
        metavar="SIZE",
        help="how much memory replaced and deleted objects may take, which watches resume from (default: %(default)s)",
    )


def _add_address_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--bind",
        type=address,
        default="127.0.0.1:6443",
        metavar="ADDR",
        help="HOST:PORT to listen on; port 0 selects a free port (default: %(default)s)",
    )
    command.add_argument(
        "--kubeconfig",
        type=Path,
        default="pilotage.kubeconfig",
        metavar="FILE",
        help="where to write the kubeconfig (default: %(default)s)",
    )
    command.add_argument(
        "--credentials",
        type=Path,
        metavar="FILE",
        help="where to store the certificate authority and the token, created at the first start (default: beside the "
        "SQLite file; with memory: they are not stored)",
    )


def _add_access_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--token-auth-file",
        type=Path,
        metavar="FILE",
        help='more users by their tokens, in kube-apiserver\'s format: lines of TOKEN,USER,UID,"GROUP,GROUP"',
    )
    command.add_argument(
        "--client-ca-file",
        type=Path,
        metavar="FILE",
        help="users by client certificates that the authorities in this PEM file have signed: the common name is the "
        "user, organizations are groups",
    )
    command.add_argument(
        "--anonymous-auth",
        action="store_true",
        help="requests without credentials are those of the user system:anonymous (default: 401)",
    )


def _add_admission_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--enable-admission-plugins",
        type=names,
        default=(),
        metavar="NAMES",
        help="admission plugins to run besides the default ones, separated by commas, as of kube-apiserver",
    )
    command.add_argument(
        "--disable-admission-plugins",
        type=names,
        default=(),
        metavar="NAMES",
        help="default admission plugins not to run, separated by commas, as of kube-apiserver",
    )


def _add_audit_options(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--audit-log-path",
        default="",
        metavar="FILE",
        help="log requests to this file, as lines of audit.k8s.io/v1 Events; - is the standard output (default: none)",
    )
    command.add_argument(
        "--audit-policy-file",
        type=Path,
        metavar="FILE",
        help="the audit.k8s.io/v1 Policy that selects requests and levels (default: all requests, at level Metadata)",
    )
    command.add_argument(
        "--audit-log-maxsize",
        type=count,
        default=100,
        metavar="MEGABYTES",
        help="the size at which the log is rotated; 0: never (default: %(default)s)",
    )
    command.add_argument(
        "--audit-log-maxbackup",
        type=count,
        default=0,
        metavar="NUMBER",
        help="how many rotated logs to keep; 0: all (default: %(default)s)",
    )


def run(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM and return the exit code."""
    import asyncio

    from pilotage.cli.serve.access import AccessOptions
    from pilotage.cli.serve.audit import AuditOptions
    from pilotage.cli.serve.server import ServeOptions, serve

    host, port = options.bind
    serving = ServeOptions(
        storage=options.storage,
        tenant=options.tenant,
        host=host,
        port=port,
        kubeconfig=options.kubeconfig,
        credentials=options.credentials,
        encryption_keys=options.encryption_keys or "",
        max_history_bytes=options.max_history,
        enable_admission_plugins=options.enable_admission_plugins,
        disable_admission_plugins=options.disable_admission_plugins,
        access=AccessOptions(options.token_auth_file, options.client_ca_file, options.anonymous_auth),
        audit=AuditOptions(
            options.audit_log_path,
            options.audit_policy_file,
            options.audit_log_maxsize,
            options.audit_log_maxbackup,
        ),
    )
    asyncio.run(serve(serving))
    return 0
