"""Names of kinds and resources: group, version, kind; group, version, plural; and the order of versions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pilotage.meta.unstructured import Unstructured

_VERSION = re.compile(r"v([0-9]{1,18})(?:(alpha|beta)([0-9]{1,18}))?")
_STAGES = {None: 0, "beta": 1, "alpha": 2}
PRERELEASES = (1, 2)
"""What the priority of an alpha or a beta begins with."""


class GroupVersion(NamedTuple):
    """`apps/v1`; the core group is the empty string and prints as `v1`."""

    group: str
    version: str

    def __str__(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """Read an `apiVersion`; ValueError if it has more than one slash or an empty part."""
        group, slash, version = api_version.rpartition("/")
        if not version or (slash and not group) or "/" in group:
            raise ValueError(f"unexpected GroupVersion string: {api_version}")
        return cls(group, version)


class GroupKind(NamedTuple):
    """`Deployment.apps`: a kind in any version."""

    group: str
    kind: str

    def __str__(self) -> str:
        return f"{self.kind}.{self.group}" if self.group else self.kind


class GroupResource(NamedTuple):
    """`deployments.apps`: a resource in any version."""

    group: str
    resource: str

    def __str__(self) -> str:
        return f"{self.resource}.{self.group}" if self.group else self.resource


class GroupVersionKind(NamedTuple):
    """Identifies the kind of an object. It can be passed wherever a class can, for objects of type `Unstructured`."""

    group: str
    version: str
    kind: str

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}"

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def object_type(self) -> type[Unstructured]:
        """The type of the objects that a call with this kind returns."""
        from pilotage.meta.unstructured import Unstructured  # it is built on this module

        return Unstructured

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)

    @classmethod
    def of(cls, api_version: str, kind: str) -> GroupVersionKind:
        group, version = GroupVersion.parse(api_version)
        return cls(group, version, kind)


class GroupVersionResource(NamedTuple):
    """Where objects of a kind are served: `apps/v1, Resource=deployments`."""

    group: str
    version: str
    resource: str

    def __str__(self) -> str:
        return f"{self.group_version}, Resource={self.resource}"

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.resource)


CUSTOM_RESOURCE_DEFINITIONS = GroupVersionResource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
"""The resource that defines other resources."""
DEFINITION_OWNER = "pilotage-install"
"""The field manager of the definitions that programs install."""


def version_priority(version: str) -> tuple[int, int, int, str]:
    """A key that sorts versions, the preferred one first: v2, v1, v1beta2, v1beta1, v1alpha1, then others by name."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (3, 0, 0, version)
    return (_STAGES[match[2]], -int(match[1]), -int(match[3] or 0), version)
