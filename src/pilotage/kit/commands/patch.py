"""`patch`: a patch document, or values at paths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pilotage.errors import DecodeError, PilotageError
from pilotage.kit.arguments.planning import is_dry_run
from pilotage.kit.arguments.writes import PatchArguments
from pilotage.kit.commands import files
from pilotage.kit.commands.attempts import Attempts
from pilotage.kit.commands.get import named_objects
from pilotage.kit.console.errors import CommandError, UsageError
from pilotage.kit.exits import raise_all
from pilotage.kit.printers.written import Report
from pilotage.kit.schemas import schema_of
from pilotage.kit.selection import SelectedObjects
from pilotage.kit.session import CommandSession
from pilotage.kit.setting import merge_patch, removals, settings
from pilotage.meta.documents import Document
from pilotage.rest.request import PatchType

_TYPES = {"json": PatchType.JSON, "merge": PatchType.MERGE, "strategic": PatchType.STRATEGIC}


async def run(session: CommandSession, options: PatchArguments) -> int:
    errors: list[PilotageError] = []
    report = Report(session, options)
    chosen = await named_objects(session, options, errors)
    attempts = Attempts(errors, len(chosen))
    for each in chosen:
        with attempts.one():
            await _patch(session, options, each, report)
    raise_all(errors)
    return 0


def check(options: PatchArguments) -> None:
    """Refuse options that contradict one another, and files that cannot be read. Raises CommandError."""
    given = [bool(options.patch), bool(options.patch_file), bool(options.set or options.unset)]
    if given.count(True) != 1:
        raise UsageError("must specify one of -p, --patch-file, --set and --unset")
    if not (options.set or options.unset):
        _document(options)
    files.check(options)


async def _patch(session: CommandSession, options: PatchArguments, each: SelectedObjects, report: Report) -> None:
    old = await session.get(each.mapping, each.name, each.namespace)
    patch, kind = await _content(session, options, each)
    if options.dry_run == "client":
        report.add(each.mapping, await _patched(session, each, old, patch, kind), "patched")
        return
    write = session.write_options(is_dry_run(options))
    key = each.namespace, each.name
    new, _ = await session.patch(each.mapping, key, patch, kind, write, options.subresource)
    done = "patched" if options.dry_run != "none" or new != old else "patched (no change)"
    report.add(each.mapping, new, done, dry_run=False)


async def _content(session: CommandSession, options: PatchArguments, each: SelectedObjects) -> tuple[Any, PatchType]:
    if options.set or options.unset:
        schema = await schema_of(session, each.mapping)
        return merge_patch(settings(options.set, schema), removals(options.unset, schema)), PatchType.MERGE
    return _document(options), _TYPES[options.type] if options.type else _default_type(each)


def _document(options: PatchArguments) -> Any:
    """The patch document, which is read once: the file may be standard input. Raises CommandError."""
    if not hasattr(options, "patch_document"):
        from pilotage.meta.text import yamltext  # loaded on use: `--set` with a schema needs no YAML

        text = options.patch or _read(options.patch_file)
        try:
            options.patch_document = yamltext.read(text)
        except DecodeError as error:
            raise CommandError(f'unable to parse "{text}": {error}') from error
    return options.patch_document


async def _patched(
    session: CommandSession, each: SelectedObjects, old: Document, patch: Any, kind: PatchType
) -> Document:
    """The object as the patch would leave it, before the defaults and rules of the server. Raises PatchError."""
    from pilotage.meta.patches import json_patch, merge, strategic

    if kind is PatchType.STRATEGIC:
        schema = await schema_of(session, each.mapping) or {}
        return strategic.apply(old, patch, strategic.OpenAPIMergeSchema(schema, lambda reference: {}))
    new: Document = (json_patch if kind is PatchType.JSON else merge).apply(old, patch)
    return new


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise CommandError(f"unable to read patch file: open {path}: {(error.strerror or '').lower()}") from error
    except UnicodeDecodeError as error:
        raise CommandError(
            f"unable to read patch file: {path} is not UTF-8: byte {error.start} is wrong; save it as UTF-8"
        ) from error


def _default_type(each: SelectedObjects) -> PatchType:
    """Strategic for kinds of Kubernetes, as in kubectl; custom resources have no strategic merge patch."""
    group = each.mapping.gvk.group
    return PatchType.MERGE if "." in group and not group.endswith(".k8s.io") else PatchType.STRATEGIC
