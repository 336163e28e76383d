"""`label`: sets and removes labels."""

from __future__ import annotations

import argparse

from pilotage.cli.errors import CommandError, UsageError
from pilotage.cli.kit.commands.files import check
from pilotage.cli.kit.commands.get import listed
from pilotage.cli.kit.commands.written import Report, is_dry_run
from pilotage.cli.kit.exits import raise_all
from pilotage.cli.kit.selection import SelectedObjects, selected
from pilotage.cli.kit.session import CommandSession
from pilotage.errors import ApiError, PilotageError
from pilotage.rest.request import PatchType

__all__ = ["change", "check", "is_change", "run"]
_DONE = {(True, True): "modified", (True, False): "labeled", (False, True): "unlabeled", (False, False): "not labeled"}


async def run(session: CommandSession, options: argparse.Namespace) -> int:
    return await change(session, options, "labels")


async def change(session: CommandSession, options: argparse.Namespace, field: str) -> int:
    """Change the labels or the annotations of what the arguments select."""
    words, new, removed = _split(options.resources)
    if not new and not removed and not options.list:
        raise UsageError(f"at least one {field.removesuffix('s')} update is required")
    report = Report(session, options)
    errors: list[PilotageError] = []
    chosen = await _chosen(session, options, words)
    for each in chosen:
        try:
            if new or removed:
                await _change(session, options, each, field, new, removed, report)
            else:
                await _list(session, each, field, headed=len(chosen) > 1)
        except (ApiError, CommandError) as error:
            errors.append(error)
    raise_all(errors)
    return 0


def _split(words: list[str]) -> tuple[list[str], dict[str, str], list[str]]:
    """What is selected, what is set (`a=1`) and what is removed (`a-`)."""
    at = next((number for number, word in enumerate(words) if is_change(word)), len(words))
    new: dict[str, str] = {}
    removed: list[str] = []
    for word in words[at:]:
        key, equals, value = word.partition("=")
        if equals and key:
            new[key] = value
        elif word.endswith("-") and len(word) > 1:
            removed.append(word[:-1])
        else:
            raise UsageError(f"all resources must be specified before label changes: {word}")
    if both := sorted(set(new) & set(removed)):
        raise UsageError(f"can not both modify and remove a label in the same command: {', '.join(both)}")
    return words[:at], new, removed


def is_change(word: str) -> bool:
    """Whether an argument sets a label (`a=1`) or removes one (`a-`)."""
    return "=" in word or (word.endswith("-") and len(word) > 1)


async def _chosen(session: CommandSession, options: argparse.Namespace, words: list[str]) -> list[SelectedObjects]:
    if options.filename:
        from pilotage.cli.kit.commands.files import selected_by_files

        return await selected_by_files(session, options)
    found = selected(session, words)
    if all(each.name for each in found):
        return found
    return await listed(session, options, found)


async def _change(
    session: CommandSession,
    options: argparse.Namespace,
    each: SelectedObjects,
    field: str,
    new: dict[str, str],
    removed: list[str],
    report: Report,
) -> None:
    document = await session.get(each.mapping, each.name, each.namespace)
    old: dict[str, str] = document["metadata"].get(field) or {}
    _check(old, new, field, overwrite=options.overwrite)
    for key in removed:
        if key not in old and field == "labels":
            session.output.line(f'label "{key}" not found.')
    added = any(old.get(key) != value for key, value in new.items())
    gone = any(key in old for key in removed)
    if (added or gone) and options.dry_run != "client":
        patch = {"metadata": {field: {**new, **dict.fromkeys(removed)}}}
        write = session.write_options(is_dry_run(options))
        document, _ = await session.patch(each.mapping, (each.namespace, each.name), patch, PatchType.MERGE, write)
    done = _DONE[added, gone] if field == "labels" else "annotated"
    report.add(each.mapping, document, done)


async def _list(session: CommandSession, each: SelectedObjects, field: str, *, headed: bool) -> None:
    """Print the labels of an object, under its name where there are several objects."""
    found = (await session.get(each.mapping, each.name, each.namespace))["metadata"].get(field) or {}
    gvk = each.mapping.gvk
    if headed:
        session.output.line(f"Listing {field} for {gvk.kind}{'.' if gvk.group else ''}{gvk.group}/{each.name}:")
    for key in sorted(found):
        session.output.line(f"{' ' if headed else ''}{key}={found[key]}")


def _check(old: dict[str, str], new: dict[str, str], field: str, *, overwrite: bool) -> None:
    taken = [] if overwrite else [key for key, value in new.items() if old.get(key, value) != value]
    if not taken:
        return
    if field == "labels":
        raise CommandError(
            "; ".join(f"'{key}' already has a value ({old[key]}), and --overwrite is false" for key in taken)
        )
    shown = "; ".join(f"'{key}' already has a value ({old[key]})" for key in taken)
    raise CommandError(f"--overwrite is false but found the following declared annotation(s): {shown}")
