"""What differs between pods for Linux and for Windows."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.pods.surroundings import containers_of
from pilotage.meta.causes import forbidden, invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.server.strategies.checks import fields, texts

_MAX_CREDENTIALS = 64 * 1024
_MAX_DOMAIN = 256
_MAX_USER = 104
_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_has_control = re.compile(r"[\x00-\x1f\x7f]").search
_is_netbios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}').fullmatch
_is_domain = re.compile(rf"{_LABEL}(?:\.{_LABEL})*").fullmatch
_has_refused = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search
_CANNOT = "cannot be set for a windows pod"
_NOT_IN_POD = (
    ("securityContext", "appArmorProfile"),
    ("securityContext", "seLinuxOptions"),
    ("", "hostUsers"),
    ("", "hostPID"),
    ("", "hostIPC"),
    ("securityContext", "seccompProfile"),
    ("securityContext", "fsGroup"),
    ("securityContext", "fsGroupChangePolicy"),
    ("securityContext", "sysctls"),
    ("", "shareProcessNamespace"),
    ("securityContext", "runAsUser"),
    ("securityContext", "runAsGroup"),
    ("securityContext", "supplementalGroups"),
    ("securityContext", "supplementalGroupsPolicy"),
    ("securityContext", "seLinuxChangePolicy"),
)
_ONLY_IF_TRUE = ("hostPID", "hostIPC", "sysctls")
_NOT_IN_CONTAINER = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def validate_system(spec: Document, path: str) -> Iterator[Cause]:
    """The operating system of a pod, and what does not exist on it."""
    system = spec.get("os")
    if system is None:
        return
    name = system.get("name") or ""
    if not name:
        yield required(f"{path}.os.name")
    elif name == "linux":
        yield from _validate_linux(spec, path)
    elif name == "windows":
        yield from _validate_windows(spec, path)
    else:
        yield not_supported(f"{path}.os", name, ("linux", "windows"))


def validate_host_processes(spec: Document, path: str) -> Iterator[Cause]:
    """Processes of the node itself: either all containers of a pod are such, or none."""
    of_pod = _host_process(spec)
    count = total = 0
    for container, at in containers_of(spec, path):
        total += 1
        own = _host_process(container)
        if of_pod is not None and own is not None and of_pod != own:
            shown = "true" if of_pod else "false"
            message = f"pod hostProcess value must be identical if both are specified, was {shown}"
            yield invalid(f"{at}.securityContext.windowsOptions.hostProcess", own, message)
        count += bool(own if own is not None else of_pod)
    if not count:
        return
    if count != total:
        message = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        yield invalid(path, "", message)
    if not spec.get("hostNetwork"):
        message = "hostNetwork must be true if pod contains any hostProcess containers"
        yield invalid(f"{path}.hostNetwork", False, message)


def validate_windows_options(options: Document | None, path: str) -> Iterator[Cause]:
    """The options of a security context that only Windows has."""
    if not options:
        return
    yield from fields.given(options.get("gmsaCredentialSpecName"), f"{path}.gmsaCredentialSpecName", texts.text)
    if (credentials := options.get("gmsaCredentialSpec")) is not None:
        if not credentials:
            message = "gmsaCredentialSpec cannot be an empty string"
            yield invalid(f"{path}.gmsaCredentialSpec", credentials, message)
        elif len(credentials.encode(errors="replace")) > _MAX_CREDENTIALS:
            message = "gmsaCredentialSpec size must be under 64 KiB"
            yield invalid(f"{path}.gmsaCredentialSpec", credentials, message)
    if (user := options.get("runAsUserName")) is not None:
        for problem in _user_problems(user):
            yield invalid(f"{path}.runAsUserName", user, f"runAsUserName{problem}")


def _user_problems(name: str) -> Iterator[str]:
    domain, backslash, user = name.rpartition("\\")
    if not name:
        yield " cannot be an empty string"
    elif _has_control(name):
        yield " cannot contain control characters"
    elif "\\" in domain:
        yield " cannot contain more than one backslash"
    else:
        if len(domain.encode(errors="replace")) >= _MAX_DOMAIN:
            yield f"'s Domain length must be under {_MAX_DOMAIN} characters"
        if backslash and not (_is_netbios(domain) or _is_domain(domain)):
            yield "'s Domain doesn't match the NetBios nor the DNS format"
        if not user:
            yield "'s User cannot be empty"
        elif len(user.encode(errors="replace")) > _MAX_USER:
            yield f"'s User length must not be longer than {_MAX_USER} characters"
        if user and not user.strip(". "):
            yield "'s User cannot contain only periods or spaces"
        if _has_refused(user):
            yield "'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]"


def _host_process(holder: Document) -> bool | None:
    options = (holder.get("securityContext") or {}).get("windowsOptions") or {}
    found: bool | None = options.get("hostProcess")
    return found


def _validate_linux(spec: Document, path: str) -> Iterator[Cause]:
    for holder, at in ((spec, path), *containers_of(spec, path)):
        if (holder.get("securityContext") or {}).get("windowsOptions") is not None:
            message = "windows options cannot be set for a linux pod"
            yield forbidden(f"{at}.securityContext.windowsOptions", message)


def _validate_windows(spec: Document, path: str) -> Iterator[Cause]:
    for part, name in _NOT_IN_POD:
        holder = (spec.get(part) or {}) if part else spec
        value = holder.get(name)
        if value if name in _ONLY_IF_TRUE else value is not None:
            yield forbidden(f"{path}.{part}.{name}" if part else f"{path}.{name}", _CANNOT)
    for container, at in containers_of(spec, path):
        context = container.get("securityContext") or {}
        for name in _NOT_IN_CONTAINER:
            if context.get(name) is not None:
                yield forbidden(f"{at}.securityContext.{name}", _CANNOT)
