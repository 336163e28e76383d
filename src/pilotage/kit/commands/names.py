"""What may be the word at the cursor of a command line: types, the names of objects of a type, namespaces, labels, and
the values of options that are about fields."""

from __future__ import annotations

from pilotage.errors import NoMatch
from pilotage.kit.commands.get import scope
from pilotage.kit.completing import NamesArguments
from pilotage.kit.fieldpaths import continued, values_at
from pilotage.kit.schemas import schema_of, selectable_fields
from pilotage.kit.session import CommandSession
from pilotage.kit.setting import with_settable_metadata
from pilotage.meta.documents import Document
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.paths import items


async def run(session: CommandSession, options: NamesArguments) -> int:
    for word in await _words(session, options):
        session.output.write(f"{word}\n")
    session.output.flush()
    return 0


async def _words(session: CommandSession, options: NamesArguments) -> list[str]:
    if options.value_of == "namespace":
        return await _names(session, "namespaces", options)
    if options.value_of in _OF_OPTIONS:
        mapping = _mapping(session, options.resources[0]) if options.resources else None
        found = await _OF_OPTIONS[options.value_of](session, mapping, options) if mapping is not None else []
        return [word for word in found if word.startswith(options.current)]
    if options.value_of in ("selector", "label_columns"):
        return await _labels(session, options)
    if options.value_of not in ("", "about"):
        return []
    kind, slash, _ = options.current.partition("/")
    if slash:
        return [f"{kind}/{name}" for name in await _names(session, kind, options)]
    if not options.resources:
        return sorted({each.resource.resource for each in session.mapper.mappings if "list" in each.verbs})
    if options.command in ("create", "explain"):  # with a type alone, or a name that does not exist yet
        return []
    kind, *given = options.resources
    return [name for name in await _names(session, kind, options) if name not in given]


async def _labels(session: CommandSession, options: NamesArguments) -> list[str]:
    """The labels of the objects of the type: `app=web`, or only the key for a column; after those that are typed."""
    typed, comma, last = options.current.rpartition(",")
    types = options.resources[0].split(",") if options.resources else []
    labels = [item["metadata"].get("labels") or {} for each in types for item in await _objects(session, each, options)]
    keys_only = options.value_of == "label_columns"
    found = {key if keys_only else f"{key}={value}" for each in labels for key, value in each.items()}
    return [f"{typed}{comma}{label}" for label in sorted(found) if label.startswith(last)]


async def _names(session: CommandSession, kind: str, options: NamesArguments) -> list[str]:
    return [item["metadata"]["name"] for item in await _objects(session, kind, options)]


async def _objects(session: CommandSession, kind: str, options: NamesArguments) -> list[Document]:
    mapping = _mapping(session, kind)
    if mapping is None:
        return []
    found, _ = await session.list(mapping, scope(session, mapping, options))
    return found


def _mapping(session: CommandSession, kind: str) -> RESTMapping | None:
    try:
        return session.mapper.mapping_for(kind.partition("/")[0].partition(",")[0])
    except NoMatch:
        return None


async def _paths(session: CommandSession, mapping: RESTMapping, options: NamesArguments) -> list[str]:
    """The fields of `--set`, with the few values that they may have, and of `--unset`."""
    schema = with_settable_metadata(await schema_of(session, mapping))
    path, equals, _ = options.current.partition("=")
    if equals:
        return [f"{path}={value}" for value in values_at(schema, path)]
    return continued(schema, path, "=" if options.value_of == "set" else "")


async def _sort_paths(session: CommandSession, mapping: RESTMapping, options: NamesArguments) -> list[str]:
    found = continued(await schema_of(session, mapping) or {}, options.current.removeprefix("."))
    return [f".{path}" for path in found]


async def _selectable(session: CommandSession, mapping: RESTMapping, options: NamesArguments) -> list[str]:
    typed, comma, _ = options.current.rpartition(",")
    fields = ["metadata.name", *(["metadata.namespace"] if mapping.namespaced else [])]
    return [f"{typed}{comma}{name}=" for name in (*fields, *await selectable_fields(session, mapping))]


async def _conditions(session: CommandSession, mapping: RESTMapping, options: NamesArguments) -> list[str]:
    """What `wait --for` may wait for: the conditions that the objects have."""
    named = {each.partition("/")[2] or each for each in options.resources}
    objects = await _objects(session, options.resources[0], options)
    chosen = [each for each in objects if each["metadata"]["name"] in named] or objects
    found = {item.get("type") for each in chosen for item in items(each, "status", "conditions")}
    return ["create", "delete", "jsonpath=", *(f"condition={name}" for name in sorted(filter(None, found)))]


_OF_OPTIONS = {
    "set": _paths,
    "unset": _paths,
    "sort_by": _sort_paths,
    "field_selector": _selectable,
    "condition": _conditions,
}
