"""`apply --prune`: deletes what an earlier apply created and the files no longer have."""

from __future__ import annotations

import argparse

from pilotage.cli.kit.commands.written import DRY_RUN, is_server_dry_run
from pilotage.cli.kit.session import CommandSession, name_of
from pilotage.meta.documents import Document
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.rest.request import DeleteOptions, ListOptions


async def prune(
    session: CommandSession, options: argparse.Namespace, applied: list[tuple[RESTMapping, Document]]
) -> None:
    """Delete the objects of the applied kinds and namespaces that match the selector, that this tool has applied, and
    that are not among `applied`. The manager of an apply is in managedFields: objects that were made in another way
    stay."""
    kept = {(mapping.gvk, _namespace(one), one["metadata"]["name"]) for mapping, one in applied}
    kinds = {mapping.gvk: mapping for mapping, _ in applied}
    for gvk, mapping in kinds.items():
        for namespace in sorted({_namespace(one) for each, one in applied if each.gvk == gvk}):
            listing = ListOptions(label_selector=options.selector)
            for found in (await session.list(mapping, namespace, listing))[0]:
                name = found["metadata"]["name"]
                if (gvk, namespace, name) in kept or not _is_applied(found, session.field_manager):
                    continue
                await _delete(session, options, mapping, (namespace, name))


async def _delete(
    session: CommandSession, options: argparse.Namespace, mapping: RESTMapping, key: tuple[str, str]
) -> None:
    if options.dry_run != "client":
        policy = DeleteOptions(dry_run=is_server_dry_run(options), propagation_policy="Background")
        await session.delete(mapping, key, policy)
    session.output.line(f"{name_of(mapping, key[1])} pruned{DRY_RUN[options.dry_run]}")


def _namespace(document: Document) -> str:
    return document["metadata"].get("namespace") or ""


def _is_applied(document: Document, manager: str) -> bool:
    entries = document["metadata"].get("managedFields") or ()
    return any(entry.get("manager") == manager and entry.get("operation") == "Apply" for entry in entries)
