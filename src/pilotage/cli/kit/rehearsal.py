"""Tries a command that would create a tenant in memory first, so that a command that fails creates no tenant."""

from __future__ import annotations

import argparse
import io
from collections.abc import Awaitable, Callable

import msgspec

from pilotage.cli.errors import CommandError
from pilotage.cli.kit.session import CommandSession
from pilotage.cli.terminal import Terminal
from pilotage.errors import NoMatch, PilotageError

Run = Callable[[CommandSession, argparse.Namespace], Awaitable[int]]


async def rehearse(run: Run, session: CommandSession, options: argparse.Namespace, *, webhooks: bool) -> None:
    """Run a command on an empty storage, and print nothing. Raises its error if it would write no object.

    `webhooks` says that those of a program will be called, which may set what is missing: then only errors of the
    command line and of its files count, and not what the server answers.
    """
    printed = io.StringIO()
    quiet = msgspec.structs.replace(session, output=Terminal(printed), errors=Terminal(io.StringIO()))
    try:
        await run(quiet, options)
    except PilotageError as error:
        written = printed.getvalue()  # what is written is printed
        if not written and (not webhooks or isinstance(error, CommandError | NoMatch)):
            raise
