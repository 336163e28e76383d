"""The flags of kube-apiserver, as envtest and its users give them: those with an effect, and the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

EFFECTIVE = {
    "bind-address": "the address to listen on (default 0.0.0.0)",
    "secure-port": "the port to listen on (default 6443)",
    "cert-dir": "the folder of apiserver.crt and apiserver.key, which are created if they are missing",
    "tls-cert-file": "the certificate, instead of that in --cert-dir",
    "tls-private-key-file": "the key of --tls-cert-file",
    "client-ca-file": "the authorities of client certificates",
    "token-auth-file": "users by their tokens",
    "anonymous-auth": "requests without credentials have the user system:anonymous (default true)",
    "enable-admission-plugins": "admission plugins to run besides the default ones",
    "disable-admission-plugins": "default admission plugins not to run",
    "service-cluster-ip-range": "the range of the cluster IPs of Services (default 10.0.0.0/24)",
    "audit-log-path": "the file of the audit log",
    "audit-policy-file": "the audit policy",
    "audit-log-maxsize": "the size in megabytes at which the audit log is rotated",
    "audit-log-maxbackup": "how many rotated audit logs to keep",
}
"""Those that the server of this process follows, with their help."""
EXPECTED = {
    "allow-privileged": ("true",),
    "authorization-mode": ("RBAC", "Node,RBAC"),
    "endpoint-reconciler-type": ("none",),
    "profiling": ("false",),
}
"""Flags that have no effect but ask for what the server does anyway, with these values."""
_SILENT = ("etcd-servers", "service-account-issuer", "service-account-key-file", "service-account-signing-key-file")
"""What each suite gives, so that a line about it would say nothing: objects are in memory, and the server has a key of
its own for tokens."""


class Flags(NamedTuple):
    """The flags of one command line."""

    values: Mapping[str, str]
    """Those with an effect. The values of a flag that was repeated are separated by commas."""
    without_effect: Sequence[str]
    """The others, without those that ask for what the server does anyway."""


def parsed(arguments: Sequence[str]) -> Flags:
    """The flags, as `--name=value`, `--name value` or `--name`, which is true. Raises ValueError for other words."""
    values: dict[str, str] = {}
    for name, value in _pairs(arguments):
        values[name] = f"{values[name]},{value}" if name in values and name.endswith("-plugins") else value
    effective = {name: value for name, value in values.items() if name in EFFECTIVE}
    others = [name for name, value in values.items() if name not in EFFECTIVE and not _is_expected(name, value)]
    return Flags(effective, others)


def _pairs(arguments: Sequence[str]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for word in arguments:
        if word.startswith("-"):
            name, equals, value = word.lstrip("-").partition("=")
            pairs.append((name.replace("_", "-"), value if equals else ""))
        elif pairs and not pairs[-1][1]:
            pairs[-1] = pairs[-1][0], word  # no flag of kube-apiserver is followed by anything but its value
        else:
            raise ValueError(f"kube-apiserver takes no arguments, only flags: {word!r}")
    return [(name, value or "true") for name, value in pairs]


def _is_expected(name: str, value: str) -> bool:
    return name in _SILENT or value in EXPECTED.get(name, ())


def help_text() -> str:
    """The help of kube-apiserver: envtest looks for flags in it."""
    rows = [f"      --{name:<28}{about}" for name, about in EFFECTIVE.items()]
    head = "kube-apiserver of Pilotage: an API server in memory. Flags with an effect; others are accepted:"
    return "\n".join([head, "", *rows, ""])
