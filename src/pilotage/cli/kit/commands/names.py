"""What may be the word at the cursor of a command line: types, the names of objects of a type, namespaces."""

from __future__ import annotations

import argparse

from pilotage.cli.kit.commands.get import scope
from pilotage.cli.kit.session import CommandSession
from pilotage.errors import NoMatch


async def run(session: CommandSession, options: argparse.Namespace) -> int:
    for word in await _words(session, options):
        session.output.write(f"{word}\n")
    session.output.flush()
    return 0


async def _words(session: CommandSession, options: argparse.Namespace) -> list[str]:
    if options.value_of:
        return await _names(session, "namespaces", options) if options.value_of == "namespace" else []
    kind, slash, _ = options.current.partition("/")
    if slash:
        return [f"{kind}/{name}" for name in await _names(session, kind, options)]
    if not options.resources:
        return sorted({each.resource.resource for each in session.mapper.mappings if "list" in each.verbs})
    if options.command in ("create", "explain"):  # with a type alone, or a name that does not exist yet
        return []
    kind, *given = options.resources
    return [name for name in await _names(session, kind, options) if name not in given]


async def _names(session: CommandSession, kind: str, options: argparse.Namespace) -> list[str]:
    try:
        mapping = session.mapper.mapping_for(kind)
    except NoMatch:
        return []
    found, _ = await session.list(mapping, scope(session, mapping, options))
    return [item["metadata"]["name"] for item in found]
