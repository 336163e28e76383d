"""What may follow the words of a command line: types, and the names of objects of a type."""

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
    types = sorted({each.resource.resource for each in session.mapper.mappings if "list" in each.verbs})
    if not options.resources:
        return types
    try:
        mapping = session.mapper.mapping_for(options.resources[0])
    except NoMatch:
        return []
    found, _ = await session.list(mapping, scope(session, mapping, options))
    return [item["metadata"]["name"] for item in found]
