"""The wire generations of the Device API, and the methods of each."""

from __future__ import annotations

import enum

from pilotage.device.v1alpha1 import GROUP
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource

PACKAGES = ("nvidia.nvsentinel.v1alpha1", "nvidia.device.v1alpha1")
"""The packages of GpuService. Clients use the first; docs and older providers use the other."""
SERVICE = "GpuService"
RESOURCE = GroupVersionResource(GROUP, "v1alpha1", "gpus")
KIND = GroupVersionKind(GROUP, "v1alpha1", "GPU")

READS = ("GetGpu", "ListGpus", "WatchGpus")
WRITES = ("CreateGpu", "UpdateGpu", "UpdateGpuStatus", "DeleteGpu", "PatchGpu")
STREAMS = ("WatchGpus",)
"""The streaming methods."""


class Generation(enum.StrEnum):
    """A wire generation. All have the same message names, so the generation of a peer must be known in advance."""

    V1 = "v1"
    """Read-only, objects without metadata."""
    V2 = "v2"
    """Read-only, with resource versions."""
    V3 = "v3"
    """Read-only, with options."""
    V6 = "v6"
    """The default. A server of V6 also serves clients of V2 and V3."""
    V8 = "v8"
    """The newest, renumbered."""

    @property
    def writes(self) -> bool:
        """Whether it has writes."""
        return self in (Generation.V6, Generation.V8)

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of its methods: `GetGpu` and so on."""
        return READS + WRITES if self.writes else READS


def method_path(name: str, package: str = PACKAGES[0], service: str = SERVICE) -> str:
    """A method in full: `/nvidia.nvsentinel.v1alpha1.GpuService/ListGpus`."""
    return f"/{package}.{service}/{name}"
