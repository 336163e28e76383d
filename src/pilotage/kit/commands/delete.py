"""`delete`: by name, by file, by selector, or all; and waits until the objects are deleted."""

from __future__ import annotations

from pilotage.errors import NotFound, PilotageError
from pilotage.kit.arguments.writes import DeleteArguments, Deletion
from pilotage.kit.commands import files
from pilotage.kit.commands.attempts import Attempts
from pilotage.kit.commands.get import objects_of
from pilotage.kit.commands.wait import timed_out, wait_until
from pilotage.kit.console.errors import CommandError, UsageError
from pilotage.kit.console.terminal import GREEN
from pilotage.kit.exits import collected, raise_all
from pilotage.kit.printers.documents import kind_of
from pilotage.kit.printers.written import DRY_RUN
from pilotage.kit.selection import SelectedObjects
from pilotage.kit.session import CommandSession
from pilotage.meta.documents import Document
from pilotage.rest.request import DeleteOptions

_POLICIES = {"background": "Background", "foreground": "Foreground", "orphan": "Orphan", "true": "Background"}
_POLICIES["false"] = "Orphan"


async def run(session: CommandSession, options: DeleteArguments) -> int:
    errors: list[PilotageError] = []
    chosen = await objects_of(session, options, errors)
    if not chosen and not errors:
        session.output.line("No resources found")
    deleted: list[tuple[SelectedObjects, str]] = []
    attempts = Attempts(errors, len(chosen), "deleting")
    for each in chosen:
        with attempts.one(each.source):
            deleted += await delete_one(session, options, each)
    if options.wait and options.dry_run == "none":
        with collected(errors):
            await wait_gone(session, deleted, options.timeout)
    raise_all(errors)
    return 0


def check(options: DeleteArguments) -> None:
    """Refuse options that contradict one another, and files that cannot be read, before anything is deleted. Raises
    CommandError."""
    grace = 1 if options.now else options.grace_period
    if options.now and options.grace_period >= 0:
        raise UsageError("--now and --grace-period cannot be specified together")
    if options.force and grace > 0:
        raise UsageError("--force and --grace-period greater than 0 cannot be specified together")
    if options.all and (options.selector or options.field_selector):
        raise UsageError("setting 'all' parameter but found a non empty selector.")
    if options.output not in ("", "name"):
        raise CommandError(f"unexpected -o output mode: {options.output}. We only support '-o name'")
    if not options.resources:
        files.check(options)


async def delete_one(
    session: CommandSession, options: Deletion, each: SelectedObjects
) -> list[tuple[SelectedObjects, str]]:
    """Delete an object and print it: the object and its uid; nothing with `--ignore-not-found` if it does not exist."""
    try:
        answer = await _delete(session, options, each)
    except NotFound:
        if options.ignore_not_found:
            return []
        raise
    _print(session, options, each)
    return [(each, _uid(answer))]


async def _delete(session: CommandSession, options: Deletion, each: SelectedObjects) -> Document:
    key = each.namespace, each.name
    if options.dry_run == "client":
        return await session.get(each.mapping, each.name, each.namespace)
    grace = 1 if options.now else 0 if options.force else options.grace_period
    policy = DeleteOptions(
        dry_run=options.dry_run == "server",
        grace_period_seconds=None if grace < 0 else grace,
        propagation_policy=_POLICIES[options.cascade],
    )
    return await session.delete(each.mapping, key, policy)


async def wait_gone(session: CommandSession, deleted: list[tuple[SelectedObjects, str]], timeout: float) -> None:
    """Wait until none of the objects exists with its uid. `timeout` 0 is without a limit. Raises CommandError."""
    import asyncio  # loaded on use: a command that does not wait needs no event loop

    for each, uid in deleted:

        def is_gone(found: Document | None, uid: str = uid) -> bool:
            return found is None or (bool(uid) and found["metadata"].get("uid") != uid)

        try:
            with session.errors.working(f'Waiting until {kind_of(each.mapping.gvk)} "{each.name}" is deleted'):
                async with asyncio.timeout(timeout or None):
                    await wait_until(session, each, is_gone)
        except TimeoutError:
            raise timed_out(each) from None


def _print(session: CommandSession, options: Deletion, each: SelectedObjects) -> None:
    kind = kind_of(each.mapping.gvk)
    if options.output == "name":
        session.report(f"{kind}/{each.name}\n")
        return
    done = session.output.styled("force deleted" if options.force else "deleted", GREEN)
    where = f" from {session.namespace_of(each.mapping, each.namespace)} namespace" if each.mapping.namespaced else ""
    session.report(f'{kind} "{each.name}" {done}{where}{DRY_RUN[options.dry_run]}\n')


def _uid(answer: Document) -> str:
    """The uid of the object, or the one in the Status that the server returned instead of it."""
    return str((answer.get("metadata") or {}).get("uid") or (answer.get("details") or {}).get("uid") or "")
