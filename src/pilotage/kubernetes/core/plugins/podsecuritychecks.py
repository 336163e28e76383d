"""The Pod Security Standards: what the levels `baseline` and `restricted` forbid about a Pod. Pure functions.

Messages have kube-apiserver's words. A version of the standards has the checks that its minor version had.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import NamedTuple

from pilotage.codec.defaults.containers import containers
from pilotage.meta.documents import Document

_CAPABILITIES = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)
_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_syncookies",
)
_SYSCTLS_27 = (*_SYSCTLS, "net.ipv4.ip_local_reserved_ports")
_SYSCTLS_29 = (
    *_SYSCTLS_27,
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
)
_SYSCTLS_32 = (*_SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t")
_SELINUX_TYPES_31 = (*_SELINUX_TYPES, "container_engine_t")
_PROFILES = ("RuntimeDefault", "Localhost")
_VOLUMES = frozenset(
    ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret")
)


class Violation(NamedTuple):
    """What a level forbids about a Pod."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


Check = Callable[[Document], Violation | None]


def violations(level: str, spec: Document, version: str = "latest") -> list[Violation]:
    """What a level forbids about the spec of a Pod, in a version such as `v1.25` or `latest`."""
    minor = LATEST if version == "latest" else int(version.partition(".")[2])
    checks = (one.check for one in _CHECKS if level in one.levels and one.since <= minor < one.until)
    return [found for check in checks if (found := check(spec)) is not None]


def _unless(exempt: Callable[[Document], bool], check: Check) -> Check:
    """A check that some Pods are exempt from."""
    return lambda spec: None if exempt(spec) else check(spec)


def _security(holder: Document) -> Document:
    found: Document = holder.get("securityContext") or {}
    return found


def _quoted(items: list[str]) -> str:
    return ", ".join(f'"{item}"' for item in items)


def _named(names: list[str]) -> str:
    return f"container{'s' if len(names) > 1 else ''} {_quoted(names)}"


def _setters(spec: Document, is_bad: Callable[[Document], bool]) -> str:
    """Where a forbidden value is set: in the Pod, in containers, or both; empty if nowhere."""
    names = [one["name"] for one in containers(spec) if is_bad(_security(one))]
    pod = ["pod"] if is_bad(_security(spec)) else []
    return " and ".join(pod + ([_named(names)] if names else []))


def _users(items: Iterable[Document], used: Callable[[Document], set[str]]) -> tuple[list[str], list[str], str]:
    """The names of those that use something forbidden, all that they use, and the verb."""
    found = [(one["name"], uses) for one in items if (uses := used(one))]
    everything = sorted(set().union(*(uses for _, uses in found)))
    return [name for name, _ in found], everything, "use" if len(found) > 1 else "uses"


def _of_containers(spec: Document, reason: str, is_bad: Callable[[Document], bool], rule: str) -> Violation | None:
    names = [one["name"] for one in containers(spec) if is_bad(_security(one))]
    return Violation(reason, f"{_named(names)} {rule}") if names else None


def _app_armor(spec: Document) -> Violation | None:
    def kind(context: Document) -> str:
        return (context.get("appArmorProfile") or {}).get("type") or ""

    setters = _setters(spec, lambda context: kind(context) not in ("", *_PROFILES))
    holders = (spec, *containers(spec))
    bad = sorted({kind(_security(one)) for one in holders} - {"", *_PROFILES})
    reason = "forbidden AppArmor profile" + ("s" if len(bad) > 1 else "")
    return Violation(reason, f"{setters} must not set AppArmor profile type to {_quoted(bad)}") if bad else None


def _added(container: Document, allowed: frozenset[str]) -> set[str]:
    return set((_security(container).get("capabilities") or {}).get("add") or ()) - allowed


def _capabilities(spec: Document) -> Violation | None:
    names, bad, _ = _users(containers(spec), lambda one: _added(one, _CAPABILITIES))
    detail = f"{_named(names)} must not include {_quoted(bad)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail) if names else None


def _host_namespaces(spec: Document) -> Violation | None:
    found = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return Violation("host namespaces", ", ".join(found)) if found else None


def _host_paths(spec: Document) -> Violation | None:
    names = [one["name"] for one in spec.get("volumes") or () if one.get("hostPath") is not None]
    detail = f"volume{'s' if len(names) > 1 else ''} {_quoted(names)}"
    return Violation("hostPath volumes", detail) if names else None


def _host_ports(spec: Document) -> Violation | None:
    def used(container: Document) -> set[str]:
        return {str(one["hostPort"]) for one in container.get("ports") or () if one.get("hostPort")}

    names, ports, uses = _users(containers(spec), used)
    detail = f"{_named(names)} {uses} hostPort{'s' if len(ports) > 1 else ''} {', '.join(ports)}"
    return Violation("hostPort", detail) if names else None


def _probe_hosts(spec: Document) -> Violation | None:
    names, hosts, uses = _users(containers(spec), lambda one: set(map(_host, _handlers(one))) - {""})
    plural = "s" if len(hosts) > 1 else ""
    detail = f"{_named(names)} {uses} probe or lifecycle host{plural} {_quoted(hosts)}"
    return Violation("probe or lifecycle host", detail) if names else None


def _handlers(container: Document) -> Iterator[Document]:
    for field in ("livenessProbe", "readinessProbe", "startupProbe"):
        yield container.get(field) or {}
    lifecycle = container.get("lifecycle") or {}
    for field in ("postStart", "preStop"):
        yield lifecycle.get(field) or {}


def _host(handler: Document) -> str:
    found = [(handler.get(field) or {}).get("host") for field in ("httpGet", "tcpSocket")]
    return next((host for host in found if host), "")


def _privileged(spec: Document) -> Violation | None:
    rule = "must not set securityContext.privileged=true"
    return _of_containers(spec, "privileged", lambda context: context.get("privileged") is True, rule)


def _proc_mount(spec: Document) -> Violation | None:
    rule = 'must not set securityContext.procMount to "Unmasked"'
    return _of_containers(spec, "procMount", lambda context: context.get("procMount") == "Unmasked", rule)


def _selinux(spec: Document, allowed: tuple[str, ...] = _SELINUX_TYPES_31) -> Violation | None:
    def options(context: Document) -> Document:
        found: Document = context.get("seLinuxOptions") or {}
        return found

    def is_bad(context: Document) -> bool:
        found = options(context)
        return found.get("type", "") not in allowed or bool(found.get("user") or found.get("role"))

    setters = _setters(spec, is_bad)
    found = [options(_security(one)) for one in (spec, *containers(spec))]
    types = sorted({one.get("type", "") for one in found} - set(allowed))
    parts = [f"type{'s' if len(types) > 1 else ''} {_quoted(types)}"] if types else []
    parts += [f"{field} may not be set" for field in ("user", "role") if any(one.get(field) for one in found)]
    detail = f"{setters} set forbidden securityContext.seLinuxOptions: {'; '.join(parts)}"
    return Violation("seLinuxOptions", detail) if setters else None


def _profile(context: Document) -> str:
    return (context.get("seccompProfile") or {}).get("type") or ""


def _seccomp(spec: Document) -> Violation | None:
    setters = _setters(spec, lambda context: _profile(context) not in ("", *_PROFILES))
    bad = sorted({_profile(_security(one)) for one in (spec, *containers(spec))} - {"", *_PROFILES})
    detail = f"{setters} must not set securityContext.seccompProfile.type to {_quoted(bad)}"
    return Violation("seccompProfile", detail) if bad else None


def _sysctls(spec: Document, allowed: tuple[str, ...] = _SYSCTLS_32) -> Violation | None:
    names = [one.get("name", "") for one in _security(spec).get("sysctls") or ()]
    bad = [name for name in names if name not in allowed]
    return Violation("forbidden sysctls", ", ".join(bad)) if bad else None


def _host_process(spec: Document) -> Violation | None:
    setters = _setters(spec, lambda context: (context.get("windowsOptions") or {}).get("hostProcess") is True)
    rule = "must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", f"{setters} {rule}") if setters else None


def _has_own_users(spec: Document) -> bool:
    """Whether root in the Pod is not root on the node."""
    return spec.get("hostUsers") is False


def _is_windows(spec: Document) -> bool:
    return (spec.get("os") or {}).get("name") == "windows"


def _escalation(spec: Document) -> Violation | None:
    rule = "must set securityContext.allowPrivilegeEscalation=false"
    reason = "allowPrivilegeEscalation != false"
    return _of_containers(spec, reason, lambda context: context.get("allowPrivilegeEscalation") is not False, rule)


def _dropped_capabilities(spec: Document) -> Violation | None:
    allowed = frozenset(("NET_BIND_SERVICE",))
    keeping = [
        one["name"]
        for one in containers(spec)
        if "ALL" not in ((_security(one).get("capabilities") or {}).get("drop") or ())
    ]
    adding, bad, _ = _users(containers(spec), lambda one: _added(one, allowed))
    parts = [f'{_named(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    if adding:
        parts.append(f"{_named(adding)} must not include {_quoted(bad)} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(parts)) if parts else None


def _volume_types(spec: Document) -> Violation | None:
    def restricted(volume: Document) -> set[str]:
        return {field for field, value in volume.items() if field != "name" and value is not None} - _VOLUMES

    names, types, uses = _users(spec.get("volumes") or (), restricted)
    plural = "s" if len(names) > 1 else ""
    kinds = f"restricted volume type{'s' if len(types) > 1 else ''} {_quoted(types)}"
    return Violation("restricted volume types", f"volume{plural} {_quoted(names)} {uses} {kinds}") if names else None


def _non_root(spec: Document) -> Violation | None:
    reason = "runAsNonRoot != true"
    if setters := _setters(spec, lambda context: context.get("runAsNonRoot") is False):
        return Violation(reason, f"{setters} must not set securityContext.runAsNonRoot=false")
    if _security(spec).get("runAsNonRoot"):
        return None
    names = [one["name"] for one in containers(spec) if _security(one).get("runAsNonRoot") is None]
    detail = f"pod or {_named(names)} must set securityContext.runAsNonRoot=true"
    return Violation(reason, detail) if names else None


def _root_user(spec: Document) -> Violation | None:
    setters = _setters(spec, lambda context: context.get("runAsUser") == 0)
    return Violation("runAsUser=0", f"{setters} must not set runAsUser=0") if setters else None


def _required_seccomp(spec: Document) -> Violation | None:
    if (found := _seccomp(spec)) is not None:
        return found
    if _profile(_security(spec)):
        return None
    names = [one["name"] for one in containers(spec) if not _profile(_security(one))]
    rule = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {_named(names)} {rule}") if names else None


LATEST = 1_000_000
"""The minor version of `latest`."""
_BASELINE, _RESTRICTED = ("baseline",), ("restricted",)
_BOTH = _BASELINE + _RESTRICTED


class _Versioned(NamedTuple):
    """A check, the levels that have it, and its minor versions: the first that has it, and the first that no longer has
    it."""

    check: Check
    levels: tuple[str, ...]
    since: int = 0
    until: int = LATEST + 1


_CHECKS: tuple[_Versioned, ...] = (
    _Versioned(_app_armor, _BOTH),
    _Versioned(_capabilities, _BASELINE),
    _Versioned(_capabilities, _RESTRICTED, until=22),
    _Versioned(_host_namespaces, _BOTH),
    _Versioned(_host_paths, _BASELINE),
    _Versioned(_host_ports, _BOTH),
    _Versioned(_probe_hosts, _BOTH, since=34),
    _Versioned(_privileged, _BOTH),
    _Versioned(_proc_mount, _BOTH, until=35),
    _Versioned(_unless(_has_own_users, _proc_mount), _BASELINE, since=35),
    _Versioned(partial(_selinux, allowed=_SELINUX_TYPES), _BOTH, until=31),
    _Versioned(_selinux, _BOTH, since=31),
    _Versioned(_seccomp, _BASELINE, since=19),
    _Versioned(partial(_sysctls, allowed=_SYSCTLS), _BOTH, until=27),
    _Versioned(partial(_sysctls, allowed=_SYSCTLS_27), _BOTH, since=27, until=29),
    _Versioned(partial(_sysctls, allowed=_SYSCTLS_29), _BOTH, since=29, until=32),
    _Versioned(_sysctls, _BOTH, since=32),
    _Versioned(_host_process, _BOTH),
    _Versioned(_escalation, _RESTRICTED, since=8, until=25),
    _Versioned(_unless(_is_windows, _escalation), _RESTRICTED, since=25),
    _Versioned(_dropped_capabilities, _RESTRICTED, since=22, until=25),
    _Versioned(_unless(_is_windows, _dropped_capabilities), _RESTRICTED, since=25),
    _Versioned(_proc_mount, _RESTRICTED, since=35),
    _Versioned(_volume_types, _RESTRICTED),
    _Versioned(_non_root, _RESTRICTED, until=35),
    _Versioned(_unless(_has_own_users, _non_root), _RESTRICTED, since=35),
    _Versioned(_root_user, _RESTRICTED, since=23, until=35),
    _Versioned(_unless(_has_own_users, _root_user), _RESTRICTED, since=35),
    _Versioned(_required_seccomp, _RESTRICTED, since=19, until=25),
    _Versioned(_unless(_is_windows, _required_seccomp), _RESTRICTED, since=25),
)
"""In the order in which violations are reported."""
