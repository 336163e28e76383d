"""The flags of `pilotage serve`."""

# ruff: noqa: RUF009  (each of the functions returns a field of the dataclass)

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pilotage.cli import simulated
from pilotage.kit.console.flags import storages
from pilotage.kit.console.flags.fields import flag, shared
from pilotage.kit.console.flags.types import address, controllers, count, names, size


def _file(about: str) -> Any:
    return flag("FILE", about, None, type=Path)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The flags under their names, with their defaults."""

    storage: str = shared(
        lambda group: storages.add_storage(
            group, f"where to store objects: {storages.ALL_STORAGES} (default: memory:)"
        ),
        default="memory:",
    )
    tenant: str = shared(storages.add_tenant, default="default")
    encryption_keys: str = shared(storages.add_encryption_keys)
    max_history: int = flag(
        "SIZE",
        "how much memory replaced and deleted objects may take, which watches resume from (default: 64Mi)",
        64 * 2**20,
        type=size,
    )
    bind: tuple[str, int] = flag(
        "ADDR",
        "HOST:PORT to listen on; port 0 selects a free port (default: 127.0.0.1:6443)",
        ("127.0.0.1", 6443),
        type=address,
    )
    kubeconfig: Path = flag(
        "FILE",
        "where to write the kubeconfig (default: pilotage.kubeconfig)",
        Path("pilotage.kubeconfig"),
        type=Path,
    )
    credentials: Path | None = _file(
        "where to store the certificate authority and the token, created at the first start (default: beside the "
        "SQLite file; with memory: they are not stored)",
    )
    token_auth_file: Path | None = _file(
        'more users by their tokens, in kube-apiserver\'s format: lines of TOKEN,USER,UID,"GROUP,GROUP"'
    )
    client_ca_file: Path | None = _file(
        "users by client certificates that the authorities in this PEM file have signed: the common name is the "
        "user, organizations are groups",
    )
    anonymous_auth: bool = flag(
        "",
        "requests without credentials have the user system:anonymous (default: 401)",
        False,
        action="store_true",
    )
    enable_admission_plugins: tuple[str, ...] = flag(
        "NAMES",
        "admission plugins to run besides the default ones, separated by commas, as of kube-apiserver",
        (),
        type=names,
    )
    disable_admission_plugins: tuple[str, ...] = flag(
        "NAMES", "default admission plugins not to run, separated by commas, as of kube-apiserver", (), type=names
    )
    service_cluster_ip_range: tuple[str, ...] = flag(
        "CIDRS",
        "the range of the cluster IPs of Services in a new cluster, or one of IPv4 and one of IPv6, separated by a "
        "comma; more ranges are ServiceCIDRs (default: 10.0.0.0/16)",
        (),
        type=names,
    )
    controllers: tuple[str, ...] = flag(
        "NAMES",
        "the controllers to run, separated by commas, as of kube-controller-manager: * for all, NAME for one, -NAME "
        "for all but this one, such as *,-garbage-collector-controller (default: *)",
        ("*",),
        type=controllers,
    )
    audit_log_path: str = flag(
        "FILE",
        "log requests to this file, as lines of audit.k8s.io/v1 Events; - is the standard output (default: none)",
    )
    audit_policy_file: Path | None = _file(
        "the audit.k8s.io/v1 Policy that selects requests and levels (default: all requests, at level Metadata)"
    )
    audit_log_maxsize: int = flag(
        "MEGABYTES", "the size at which the log is rotated; 0: never (default: 100)", 100, type=count
    )
    audit_log_maxbackup: int = flag("NUMBER", "how many rotated logs to keep; 0: all (default: 0)", 0, type=count)
    workloads: bool = flag(
        "",
        "simulate workloads: Deployments, StatefulSets, Jobs and the others get Pods, which become ready on simulated "
        "nodes",
        False,
        action="store_true",
    )
    nodes: int | None = simulated.nodes("--workloads")
    fault: tuple[str, ...] = simulated.faults()
    stages: tuple[Path, ...] = simulated.stages("--workloads")
    address_flag: str = "--bind"
    """The flag of the address, for messages."""
