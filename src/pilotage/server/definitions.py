"""The resource of a stored definition. Light to import: a read of one kind needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from pilotage.errors import Record
from pilotage.meta.paths import is_condition_true

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pilotage.meta.documents import Document
    from pilotage.meta.mapping.mapper import RESTMapping
    from pilotage.meta.models import Resource

DEFINITIONS = "apiextensions.k8s.io/customresourcedefinitions/"
"""The prefix of the keys of definitions, below the tenant's."""
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
_TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")


class NeedsServer(Exception):
    """The stored bytes are not enough to answer the request: the registry must do it."""


def collection_of(group: str, plural: str) -> str:
    """The key prefix of all objects of a resource, below the tenant's."""
    return f"{group or 'core'}/{plural}/"


def head_of(api_version: str, kind: str) -> bytes:
    """How the stored bytes of an object begin."""
    return f'{{"apiVersion":"{api_version}","kind":"{kind}",'.encode()


def mapping_of(definition: Document, version: Document) -> RESTMapping:
    """The resource of one version of a definition whose names are accepted."""
    from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
    from pilotage.meta.mapping.mapper import RESTMapping

    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    group = spec["group"]
    return RESTMapping(
        gvk=GroupVersionKind(group, version["name"], names["kind"]),
        resource=GroupVersionResource(group, version["name"], names["plural"]),
        namespaced=spec["scope"] == "Namespaced",
        singular=names.get("singular", ""),
        short_names=tuple(names.get("shortNames", ())),
        categories=tuple(names.get("categories", ())),
        verbs=_TERMINATING_VERBS if "deletionTimestamp" in definition["metadata"] else _VERBS,
        subresources=tuple(name for name in ("status", "scale") if name in version.get("subresources", {})),
    )


class ShownKind(Record):
    """What tables show of a kind of the program: its names and its columns."""

    __slots__ = __match_args__ = ("group", "version", "kind", "plural", "short_names", "columns")

    group: str
    version: str
    kind: str
    plural: str
    short_names: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    """The name and the JSONPath of each."""

    def __init__(
        self,
        group: str,
        version: str,
        kind: str,
        plural: str,
        short_names: Sequence[str],
        columns: Sequence[Sequence[str]],
    ) -> None:
        self._set(group, version, kind, plural, tuple(short_names), tuple((name, path) for name, path in columns))

    @classmethod
    def of(cls, kind: type[Resource]) -> ShownKind:
        info = kind.__resource__
        columns = [(column.name, column.json_path) for column in info.columns]
        return cls(*info.gvk, info.plural, info.short_names, columns)

    def shown_by(self, definition: Document | None) -> bool:
        """Whether a stored definition shows the kind as it is. (The schema is compared when the kind is written.)"""
        if definition is None or not is_condition_true(definition, "Established"):
            return False
        versions = definition["spec"]["versions"]
        version: Document = next((each for each in versions if each["name"] == self.version), {})
        columns = [(each["name"], each["jsonPath"]) for each in version.get("additionalPrinterColumns") or ()]
        short_names = definition["spec"]["names"].get("shortNames", ())
        return tuple(columns) == self.columns and tuple(short_names) == self.short_names


def reads_as_stored(definition: Document) -> bool:
    """Whether objects are read as they are stored: the definition has one version, and no more than a schema."""
    versions = definition["spec"]["versions"]
    if len(versions) != 1 or not is_condition_true(definition, "Established"):
        return False
    version = versions[0]
    return bool(version.get("served")) and not version.get("deprecated") and not version.get("selectableFields")
