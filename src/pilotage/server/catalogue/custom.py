"""The resources of a definition: one for each version of a custom resource."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource, GroupVersionKind, version_priority
from pilotage.meta.paths import is_condition_true
from pilotage.schema.structural import StructuralSchema
from pilotage.server.definitions import mapping_of
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.apiextensions import versions_of
from pilotage.server.strategies.custom import CUSTOM
from pilotage.server.strategies.scaling import ScalePaths
from pilotage.server.strategies.strategy import KindStrategy
from pilotage.server.webhooks.endpoints import DefinitionConversion

CustomStrategies = Mapping[GroupResource, KindStrategy]
"""The custom resources with rules of their own."""
_NO_STRATEGIES: CustomStrategies = {}


def resources_of(
    definition: Document,
    key: str,
    revision: int,
    size: int = 0,
    strategies: CustomStrategies = _NO_STRATEGIES,
) -> Iterator[ResourceInfo]:
    """The resources of an established definition of `size` bytes, one for each served version."""
    if not is_condition_true(definition, "Established"):
        return
    name = GroupResource(definition["spec"]["group"], definition["status"]["acceptedNames"]["plural"])
    strategy = strategies.get(name, CUSTOM)
    versions: dict[str, ResourceInfo] = {}
    storage: ResourceInfo | None = None
    for version in sorted(versions_of(definition), key=lambda version: not version.get("storage")):
        info = _resource(definition, version, strategy)
        info = replace(info, definition_key=key, definition_revision=revision, definition_bytes=size)
        info = replace(info, storage=storage, versions=versions)
        storage = storage or info  # the storage version comes first: the others refer to it
        versions[info.gvk.api_version] = info
    for version in versions_of(definition):
        if version.get("served"):
            yield versions[f"{definition['spec']['group']}/{version['name']}"]


def _resource(definition: Document, version: Document, strategy: KindStrategy) -> ResourceInfo:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    terminating = "deletionTimestamp" in definition["metadata"]
    schema = version["schema"]["openAPIV3Schema"]
    scale = version.get("subresources", {}).get("scale")
    mapping = mapping_of(definition, version)
    return ResourceInfo(
        mapping=mapping,
        rules=replace(
            strategy.rules,
            subresources=mapping.subresources,
            scale=ScalePaths.of_definition(scale) if scale else None,
            selectable_fields={
                path["jsonPath"].lstrip("."): tuple(path["jsonPath"].lstrip(".").split("."))
                for path in version.get("selectableFields", ())
            },
        ),
        make_strategy=strategy.make,
        compile_schema=lambda: StructuralSchema.shared(schema),
        openapi=schema,
        custom=True,
        served=bool(version.get("served")),
        conversion=DefinitionConversion.of_definition(definition),
        terminating=terminating,
        printer_columns=version.get("additionalPrinterColumns") or (),
        deprecation=_deprecation(version, mapping.gvk, spec["versions"]) if version.get("deprecated") else "",
        accepted_list_kind=names.get("listKind", ""),
    )


def _deprecation(version: Document, gvk: GroupVersionKind, versions: Iterable[dict[str, Any]]) -> str:
    """The warning about a version: the definition's own, or one that names the best version to use instead."""
    if version.get("deprecationWarning"):
        return str(version["deprecationWarning"])
    ranks = [version_priority(one["name"]) for one in versions if one.get("served") and not one.get("deprecated")]
    better = sorted(rank for rank in ranks if rank < version_priority(gvk.version))
    instead = f"; use {gvk.group}/{better[0][-1]} {gvk.kind}" if better else ""
    return f"{gvk.api_version} {gvk.kind} is deprecated{instead}"
