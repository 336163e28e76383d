"""`apply`: server-side apply of the objects of files, and the removal of those that are no longer in them."""

from __future__ import annotations

import re
from functools import partial

from pilotage.errors import Conflict
from pilotage.kit.arguments.planning import is_dry_run
from pilotage.kit.arguments.writes import ApplyArguments
from pilotage.kit.commands import files
from pilotage.kit.commands.files import manifests_of, write_all
from pilotage.kit.console.errors import UsageError
from pilotage.kit.console.manifestfiles import Manifest, applicable
from pilotage.kit.exits import raise_all, reworded
from pilotage.kit.printers.written import DRY_RUN
from pilotage.kit.session import CommandSession, name_of
from pilotage.meta.documents import Document
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.request import DeleteOptions, ListOptions, PatchType

_MANAGER = re.compile(r'conflicts? with "([^"]*)"')


async def run(session: CommandSession, options: ApplyArguments) -> int:
    manifests = manifests_of(options)
    write = partial(apply_one, session, options)
    applied, errors = await write_all(session, options, manifests, "applying", write)
    if options.prune and not errors:
        await _prune(session, options, applied)
    raise_all(errors)
    return 0


def check(options: ApplyArguments) -> None:
    """Refuse arguments that are not enough, and files that cannot be read. Raises CommandError."""
    if not options.filename:
        raise UsageError("must specify -f: a file, a folder, or - for standard input")
    if options.prune and not options.selector and not options.all:
        raise UsageError(
            "all resources selected for prune without explicitly passing --all. To prune all resources, "
            "pass the --all flag. If you did not mean to prune all resources, specify a label selector"
        )
    files.check(options)


async def apply_one(
    session: CommandSession, options: ApplyArguments, mapping: RESTMapping, manifest: Manifest
) -> tuple[Document, str]:
    """Apply one object; returns the stored object and the outcome."""
    document = {key: value for key, value in applicable(manifest.document).items() if key != "status"}
    metadata = document["metadata"]
    key = metadata.get("namespace") or "", metadata["name"]
    old = await session.find(mapping, key[1], key[0])
    if options.dry_run == "client":
        return document if old is None else old, "created" if old is None else "configured"
    force = options.force_conflicts
    try:
        new, code = await _send(session, options, mapping, document, key, force=force)
    except Conflict as error:
        if force or not _is_own(error, session.field_manager):
            advice = "Remove these fields from the file, or take them over with --force-conflicts."
            raise reworded(error, f"{error.status.message}\n{advice}") from None
        # Fields that this tool has set before by create, edit or patch belong to it: forcing overrides no other
        # program.
        new, code = await _send(session, options, mapping, document, key, force=True)
    if options.server_side:
        return new, "serverside-applied"
    if old is None or code == 201:
        return new, "created"
    return new, "unchanged" if _content(new) == _content(old) else "configured"


async def _send(
    session: CommandSession,
    options: ApplyArguments,
    mapping: RESTMapping,
    document: Document,
    key: tuple[str, str],
    *,
    force: bool,
) -> tuple[Document, int]:
    write = session.write_options(is_dry_run(options), force=force, field_validation=options.validate)
    return await session.patch(mapping, key, document, PatchType.APPLY, write)


def _is_own(error: Conflict, manager: str) -> bool:
    managers = {match[1] for cause in error.causes for match in [_MANAGER.search(cause.message)] if match}
    return managers == {manager}


def _content(document: Document) -> Document:
    """An object without what changes with every write."""
    changing = ("managedFields", "resourceVersion")
    metadata = {name: value for name, value in document["metadata"].items() if name not in changing}
    return document | {"metadata": metadata}


async def _prune(session: CommandSession, options: ApplyArguments, applied: list[tuple[RESTMapping, Document]]) -> None:
    """Delete the objects of the applied kinds and namespaces that match the selector, that this tool has applied, and
    that are not among `applied`. The manager of an apply is in managedFields: objects that were created in another way
    are kept."""
    kept = {(mapping.gvk, _namespace(one), one["metadata"]["name"]) for mapping, one in applied}
    kinds = {mapping.gvk: mapping for mapping, _ in applied}
    for gvk, mapping in kinds.items():
        for namespace in sorted({_namespace(one) for each, one in applied if each.gvk == gvk}):
            listing = ListOptions(label_selector=options.selector)
            for found in (await session.list(mapping, namespace, listing))[0]:
                name = found["metadata"]["name"]
                if (gvk, namespace, name) in kept or not _is_applied(found, session.field_manager):
                    continue
                await _prune_object(session, options, mapping, (namespace, name))


async def _prune_object(
    session: CommandSession, options: ApplyArguments, mapping: RESTMapping, key: tuple[str, str]
) -> None:
    if options.dry_run != "client":
        policy = DeleteOptions(dry_run=is_dry_run(options), propagation_policy="Background")
        await session.delete(mapping, key, policy)
    session.report(f"{name_of(mapping, key[1])} pruned{DRY_RUN[options.dry_run]}\n")


def _namespace(document: Document) -> str:
    return document["metadata"].get("namespace") or ""


def _is_applied(document: Document, manager: str) -> bool:
    entries = document["metadata"].get("managedFields") or ()
    return any(entry.get("manager") == manager and entry.get("operation") == "Apply" for entry in entries)
