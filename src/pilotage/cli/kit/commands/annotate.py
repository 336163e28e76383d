"""`annotate`: sets and removes annotations."""

from __future__ import annotations

import argparse

from pilotage.cli.kit.commands.label import change
from pilotage.cli.kit.session import CommandSession


async def run(session: CommandSession, options: argparse.Namespace) -> int:
    return await change(session, options, "annotations")
