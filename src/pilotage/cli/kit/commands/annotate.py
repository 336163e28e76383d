"""`annotate`: sets and removes annotations."""

from __future__ import annotations

import argparse

from pilotage.cli.kit.commands.files import check
from pilotage.cli.kit.commands.label import change
from pilotage.cli.kit.session import CommandSession

__all__ = ["check", "run"]


async def run(session: CommandSession, options: argparse.Namespace) -> int:
    return await change(session, options, "annotations")
