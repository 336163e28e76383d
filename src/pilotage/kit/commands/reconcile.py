"""`reconcile`: nothing but the reconcilers, which the tool runs after each command that writes."""

from __future__ import annotations

from pilotage.kit.arguments.flags import Arguments
from pilotage.kit.session import CommandSession


async def run(session: CommandSession, options: Arguments) -> int:
    """Nothing to do here: the tool has started its reconcilers, and waits until they are idle."""
    return 0
