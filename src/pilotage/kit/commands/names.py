"""What may be the word at the cursor of a command line: types, the names of objects of a type, namespaces, labels."""

from __future__ import annotations

from pilotage.errors import NoMatch
from pilotage.kit.commands.get import scope
from pilotage.kit.completing import NamesArguments
from pilotage.kit.session import CommandSession
from pilotage.meta.documents import Document


async def run(session: CommandSession, options: NamesArguments) -> int:
    for word in await _words(session, options):
        session.output.write(f"{word}\n")
    session.output.flush()
    return 0


async def _words(session: CommandSession, options: NamesArguments) -> list[str]:
    if options.value_of == "namespace":
        return await _names(session, "namespaces", options)
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
    try:
        mapping = session.mapper.mapping_for(kind.partition("/")[0])
    except NoMatch:
        return []
    found, _ = await session.list(mapping, scope(session, mapping, options))
    return found
