"""`api-resources`: the kinds there are, with their names."""

from __future__ import annotations

from pilotage.kit.arguments.reads import ApiResourcesArguments
from pilotage.kit.printers.documents import as_json, as_yaml
from pilotage.kit.printers.output import unknown_format
from pilotage.kit.printers.table import Columns
from pilotage.kit.session import CommandSession
from pilotage.meta.documents import Document
from pilotage.meta.mapping.mapper import RESTMapping

FORMATS = ("", "json", "name", "wide", "yaml")


async def run(session: CommandSession, options: ApiResourcesArguments) -> int:
    if options.output not in FORMATS:
        raise unknown_format(options.output, FORMATS[1:])
    found = [each for each in session.mapper.mappings if _is_wanted(each, options)]
    found.sort(key=lambda each: _order(each, options.sort_by))
    if options.output in ("json", "yaml"):
        session.output.write((as_json if options.output == "json" else as_yaml)(_document(found)))
        session.output.flush()
        return 0
    if options.output == "name":
        lines = [str(each.resource.group_resource) for each in found]
    else:
        headings = ["NAME", "SHORTNAMES", "APIVERSION", "NAMESPACED", "KIND"]
        headings += ["VERBS", "CATEGORIES"] if options.output == "wide" else []
        rows = [_row(each, options.output == "wide") for each in found]
        lines = Columns().lines(rows if options.no_headers else [headings, *rows])
    for line in lines:
        session.output.write(f"{line}\n")
    session.output.flush()
    return 0


def _document(found: list[RESTMapping]) -> Document:
    """The types as the document with which a server answers for a group."""
    types: list[Document] = []
    for each in found:
        described: Document = {
            "name": each.resource.resource,
            "singularName": each.singular,
            "namespaced": each.namespaced,
            "group": each.resource.group,
            "version": each.resource.version,
            "kind": each.gvk.kind,
            "verbs": list(each.verbs),
            "shortNames": list(each.short_names),
            "categories": list(each.categories),
        }
        types.append({key: value for key, value in described.items() if value not in ("", [])})
    return {"apiVersion": "v1", "groupVersion": "", "kind": "APIResourceList", "resources": types}


def _is_wanted(mapping: RESTMapping, options: ApiResourcesArguments) -> bool:
    if not mapping.verbs:
        return False
    if options.namespaced is not None and mapping.namespaced is not options.namespaced:
        return False
    if options.api_group is not None and mapping.resource.group != options.api_group:
        return False
    verbs = {verb for each in options.verbs for verb in each.split(",")}
    categories = {category for each in options.categories for category in each.split(",")}
    return verbs <= set(mapping.verbs) and categories <= set(mapping.categories)


def _order(mapping: RESTMapping, by: str) -> tuple[str, str]:
    name = mapping.resource.resource
    if by == "kind":
        return mapping.gvk.kind, name
    return (name, "") if by == "name" else (mapping.resource.group, name)


def _row(mapping: RESTMapping, wide: bool) -> list[str]:
    row = [
        mapping.resource.resource,
        ",".join(mapping.short_names),
        mapping.gvk.api_version,
        "true" if mapping.namespaced else "false",
        mapping.gvk.kind,
    ]
    return [*row, ",".join(mapping.verbs), ",".join(mapping.categories)] if wide else row
