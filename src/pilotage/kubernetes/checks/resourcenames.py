"""Names of resources that containers use: `cpu`, `hugepages-2Mi`, `example.com/gpu`."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.codec.defaults.resources import HUGE_PAGES
from pilotage.errors import Cause
from pilotage.kubernetes.checks.quantities import is_fractional, validate_quantity_not_negative
from pilotage.meta.causes import invalid
from pilotage.meta.validation.names import qualified_name

_CONTAINER = ("cpu", "memory", "ephemeral-storage")
_COUNTED = (
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
)
"""Resources whose amounts are whole numbers."""
_STANDARD = (
    *_CONTAINER,
    *_COUNTED,
    *(f"{part}.{name}" for part in ("requests", "limits") for name in _CONTAINER),
    "storage",
    "requests.storage",
)


def container_resource_name(name: str, path: str) -> Iterator[Cause]:
    """The name of a resource that a container can have."""
    if name in _CONTAINER:
        return
    yield from resource_name(name, path)
    if "/" not in name:
        if not name.startswith(HUGE_PAGES):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def resource_name(name: str, path: str) -> Iterator[Cause]:
    """The name of a resource that a namespace can have."""
    problems = qualified_name(name)
    yield from (invalid(path, name, problem) for problem in problems)
    if not problems and "/" not in name and not _is_standard(name):
        yield invalid(path, name, "must be a standard resource type or fully qualified")


def quota_resource_name(name: str, path: str) -> Iterator[Cause]:
    """The name of a resource that a quota can count."""
    yield from resource_name(name, path)
    if "/" not in name and not is_quota_resource(name):
        yield invalid(path, name, "must be a standard resource for quota")


def resource_amount(name: str, amount: str, path: str) -> Iterator[Cause]:
    """An amount that is not negative, and whole for resources that cannot be divided."""
    yield from validate_quantity_not_negative(amount, path)
    if is_whole(name) and is_fractional(amount):
        yield invalid(path, amount, "must be an integer")


def is_quota_resource(name: str) -> bool:
    """Whether a resource without a domain can be counted by quotas."""
    return name != "storage" and _is_standard(name)


def is_whole(name: str) -> bool:
    """Whether amounts of a resource must be whole numbers."""
    return name in _COUNTED or is_extended(name)


def is_native(name: str) -> bool:
    """Whether a resource is one of Kubernetes itself."""
    return "/" not in name or "kubernetes.io/" in name


def is_extended(name: str) -> bool:
    """Whether a resource is one of a device, with a domain that is not Kubernetes' own."""
    return not is_native(name) and not name.startswith("requests.") and not qualified_name(f"requests.{name}")


def can_be_overcommitted(name: str) -> bool:
    """Whether the limit of a resource can be more than its request."""
    return is_native(name) and not name.startswith(HUGE_PAGES)


def _is_standard(name: str) -> bool:
    return name in _STANDARD or name.removeprefix("requests.").startswith(HUGE_PAGES)
