"""Names of resources that containers use: `cpu`, `hugepages-2Mi`, `example.com/gpu`."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.names import qualified_name

_CONTAINER = ("cpu", "memory", "ephemeral-storage")
_NAMES_OF_QUOTAS = (
    *(f"{part}.{name}" for part in ("requests", "limits") for name in _CONTAINER),
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
)
_PAGES = "hugepages-"


def validate_container_resource_name(name: str, path: str) -> Iterator[Cause]:
    """The name of a resource that a container can have."""
    if name in _CONTAINER:
        return
    problems = qualified_name(name)
    yield from (invalid(path, name, problem) for problem in problems)
    if "/" not in name:
        standard = name in _NAMES_OF_QUOTAS or name.removeprefix("requests.").startswith(_PAGES)
        if not problems and not standard:
            yield invalid(path, name, "must be a standard resource type or fully qualified")
        if not name.startswith(_PAGES):
            yield invalid(path, name, "must be a standard resource for containers")
    elif "kubernetes.io/" not in name and (name.startswith("requests.") or qualified_name(f"requests.{name}")):
        yield invalid(path, name, "doesn't follow extended resource name standard")
