"""Security contexts of pods and containers: users and groups, profiles, privileges, kernel parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.windows import validate_windows_options
from pilotage.meta.causes import duplicate, invalid, json_shown, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, items, numbers, texts

_MAX_ID = 2**31 - 1
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_MAX_PROFILE = 4095
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"({_SEGMENT}[\./])*{_SEGMENT}"
_is_sysctl = re.compile(_SYSCTL).fullmatch
_MAX_SYSCTL = 253
_IPC_SYSCTLS = ("kernel.shm", "kernel.msg", "fs.mqueue.")


def validate_container_security(context: Document | None, path: str, *, host_users: bool) -> Iterator[Cause]:
    """The security context of a container; `host_users` is whether its users are users of the node."""
    if not context:
        return
    yield from _validate_ids(context, path, ("runAsUser", "runAsGroup"))
    if (mount := context.get("procMount")) is not None:
        yield from fields.choice(mount, f"{path}.procMount", ("Default", "Unmasked"))
        if host_users and mount == "Unmasked":
            yield invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    yield from _validate_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            message = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield invalid(path, context, message)
        for capability in (context.get("capabilities") or {}).get("add") or ():
            if capability == "CAP_SYS_ADMIN":
                message = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
                yield invalid(path, context, message)
    yield from validate_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    yield from validate_apparmor(context.get("appArmorProfile"), f"{path}.appArmorProfile")


def validate_pod_security(spec: Document, path: str) -> Iterator[Cause]:
    """The security context of a pod, with what it shares with the node."""
    context = spec.get("securityContext") or {}
    yield from _validate_ids(context, path, ("fsGroup", "runAsUser", "runAsGroup"))
    yield from items.each(context.get("supplementalGroups"), f"{path}.supplementalGroups", validate_id)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        message = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield invalid(f"{path}.shareProcessNamespace", True, message)
    if not context:
        return
    yield from _validate_sysctls(spec, context.get("sysctls") or (), f"{path}.sysctls")
    policy = context.get("fsGroupChangePolicy")
    yield from fields.optional_choice(policy, f"{path}.fsGroupChangePolicy", ("Always", "OnRootMismatch"))
    yield from _validate_seccomp(context.get("seccompProfile"), f"{path}.seccompProfile")
    yield from validate_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    yield from validate_apparmor(context.get("appArmorProfile"), f"{path}.appArmorProfile")
    for name, allowed in (("supplementalGroupsPolicy", ("Merge", "Strict")), ("seLinuxChangePolicy", ("Recursive",))):
        yield from fields.optional_choice(context.get(name), f"{path}.{name}", allowed)


def validate_apparmor(profile: Document | None, path: str) -> Iterator[Cause]:
    """An AppArmor profile."""
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    yield from fields.required_choice(kind, f"{path}.type", _PROFILES, "type is required when appArmorProfile is set")
    if kind == "Localhost":
        yield from _validate_apparmor_file(local, f"{path}.localhostProfile")
    elif kind in _PROFILES and local is not None:
        yield invalid(f"{path}.localhostProfile", local, "can only be set when AppArmor type is Localhost")


def _validate_apparmor_file(local: str | None, path: str) -> Iterator[Cause]:
    if not local:
        yield required(path, "must be set when AppArmor type is Localhost")
        return
    if local != local.strip():
        yield invalid(path, local, "must not be padded with whitespace")
    yield from texts.length(local, path, _MAX_PROFILE)


def _validate_seccomp(profile: Document | None, path: str) -> Iterator[Cause]:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    yield from fields.required_choice(kind, f"{path}.type", _PROFILES, "type is required when seccompProfile is set")
    if kind == "Localhost":
        if local is None:
            yield required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            yield from texts.relative_path(local, f"{path}.localhostProfile")
    elif local is not None:
        shown = json_shown({"Type": kind, "LocalhostProfile": local})  # in Go's order
        message = f"Invalid value: {shown}: can only be set when seccomp type is Localhost"
        yield Cause("FieldValueInvalid", message, f"{path}.localhostProfile")


def _validate_sysctls(spec: Document, sysctls: Any, path: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        at, name = f"{path}[{index}].name", sysctl.get("name") or ""
        if not name:
            yield required(at)
        elif len(name) > _MAX_SYSCTL or not _is_sysctl(name):
            message = f"must have at most {_MAX_SYSCTL} characters and match regex ^{_SYSCTL}$"
            yield invalid(at, name, message)
        elif name in seen:
            yield duplicate(at, name)
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            yield invalid(at, name, "may not be specified when 'hostNetwork' is true")
        elif spec.get("hostIPC") and (dotted.startswith(_IPC_SYSCTLS) or dotted == "kernel.sem"):
            yield invalid(at, name, "may not be specified when 'hostIPC' is true")
        seen.add(name)


def _validate_ids(context: Document, path: str, names: tuple[str, ...]) -> Iterator[Cause]:
    for name in names:
        yield from fields.given(context.get(name), f"{path}.{name}", validate_id)


def validate_id(value: int, path: str) -> Iterator[Cause]:
    """The number of a user or of a group."""
    yield from numbers.in_range(value, path, 0, _MAX_ID)
