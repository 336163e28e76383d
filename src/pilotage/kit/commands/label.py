"""`label` and `annotate`: set and remove labels or annotations."""

from __future__ import annotations

from typing import NamedTuple

from pilotage.errors import PilotageError
from pilotage.kit.arguments.planning import is_dry_run
from pilotage.kit.arguments.writes import LabelArguments
from pilotage.kit.commands import files
from pilotage.kit.commands.attempts import Attempts
from pilotage.kit.commands.get import objects_of
from pilotage.kit.console.errors import CommandError, UsageError
from pilotage.kit.exits import raise_all
from pilotage.kit.printers.written import Report
from pilotage.kit.selection import SelectedObjects
from pilotage.kit.session import CommandSession
from pilotage.meta.documents import Document
from pilotage.rest.request import PatchType

_DONE = {(True, True): "modified", (True, False): "labeled", (False, True): "unlabeled", (False, False): "not labeled"}


class _Changes(NamedTuple):
    """The changes of labels or annotations."""

    field: str
    new: dict[str, str]
    """What is set (`a=1`)."""
    removed: list[str]
    """What is removed (`a-`)."""

    def __bool__(self) -> bool:
        return bool(self.new or self.removed)

    def applied(self, old: dict[str, str]) -> dict[str, str]:
        return {key: value for key, value in {**old, **self.new}.items() if key not in self.removed}

    def check(self, old: dict[str, str]) -> None:
        """Raise CommandError if another value is overwritten."""
        taken = [key for key, value in self.new.items() if old.get(key, value) != value]
        if not taken:
            return
        if self.field == "labels":
            raise CommandError(
                "; ".join(f"'{key}' already has a value ({old[key]}), and --overwrite is false" for key in taken)
            )
        shown = "; ".join(f"'{key}' already has a value ({old[key]})" for key in taken)
        raise CommandError(f"--overwrite is false but found the following declared annotation(s): {shown}")


async def run(session: CommandSession, options: LabelArguments) -> int:
    """Change the labels or the annotations, which `options.pairs` names, of what the arguments select."""
    field: str = options.pairs
    options.resources, changes = _split(options.resources, field)
    report = Report(session, options)
    errors: list[PilotageError] = []
    chosen = await objects_of(session, options, errors)
    attempts = Attempts(errors, len(chosen))
    for each in chosen:
        with attempts.one():
            document = await session.get(each.mapping, each.name, each.namespace)
            old: dict[str, str] = document["metadata"].get(field) or {}
            if not options.overwrite:
                changes.check(old)
            if options.list:
                _print(session, each, field, changes.applied(old), headed=len(chosen) > 1)
            else:
                document, done = await _change(session, options, each, document, changes)
                report.add(each.mapping, document, done)
    raise_all(errors)
    return 0


def check(options: LabelArguments) -> None:
    """Refuse arguments that change nothing, and files that cannot be read. Raises CommandError."""
    _, changes = _split(options.resources, options.pairs)
    if not changes and not options.list:
        raise UsageError(f"at least one {options.pairs.removesuffix('s')} update is required")
    files.check(options)


def _split(words: list[str], field: str) -> tuple[list[str], _Changes]:
    """What is selected, and the changes."""
    at = next((number for number, word in enumerate(words) if _is_change(word)), len(words))
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
    return words[:at], _Changes(field, new, removed)


def _is_change(word: str) -> bool:
    """Whether an argument sets a label (`a=1`) or removes one (`a-`)."""
    return "=" in word or (word.endswith("-") and len(word) > 1)


async def _change(
    session: CommandSession, options: LabelArguments, each: SelectedObjects, document: Document, changes: _Changes
) -> tuple[Document, str]:
    """The object with the changes, which are written unless it is a dry run, and what was done."""
    field, new, removed = changes
    old: dict[str, str] = document["metadata"].get(field) or {}
    for key in removed:
        if key not in old and field == "labels":
            session.output.line(f'label "{key}" not found.')
    added = any(old.get(key) != value for key, value in new.items())
    gone = any(key in old for key in removed)
    if options.dry_run == "client":
        document["metadata"][field] = changes.applied(old)
    elif added or gone:
        patch = {"metadata": {field: {**new, **dict.fromkeys(removed)}}}
        write = session.write_options(is_dry_run(options))
        document, _ = await session.patch(each.mapping, (each.namespace, each.name), patch, PatchType.MERGE, write)
    return document, _DONE[added, gone] if field == "labels" else "annotated"


def _print(session: CommandSession, each: SelectedObjects, field: str, found: dict[str, str], *, headed: bool) -> None:
    """Print the labels of an object, as the changes would leave them, under its name where there are several objects.
    As in kubectl, nothing is written."""
    if headed:
        session.output.line(f"Listing {field} for {each.mapping.gvk.group_kind}/{each.name}:")
    for key in sorted(found):
        session.output.line(f"{' ' if headed else ''}{key}={found[key]}")
