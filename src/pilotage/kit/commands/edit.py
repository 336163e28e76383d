"""`edit`: an object in an editor. If the server rejects the change, the file is opened again, with the reason."""

from __future__ import annotations

import re

from pilotage.errors import ApiError, Conflict, DecodeError, Invalid, NotFound, PilotageError
from pilotage.kit.arguments.flags import Selection
from pilotage.kit.commands import files
from pilotage.kit.commands.attempts import Attempts
from pilotage.kit.commands.get import named_objects
from pilotage.kit.console.errors import CommandError
from pilotage.kit.editor import edit_text, temporary_file
from pilotage.kit.exits import raise_all
from pilotage.kit.printers.documents import as_json, as_yaml, without_managed_fields
from pilotage.kit.printers.written import Report
from pilotage.kit.selection import SelectedObjects
from pilotage.kit.session import CommandSession
from pilotage.meta.documents import Document
from pilotage.meta.patches.diff import merge_diff
from pilotage.meta.text import yamltext
from pilotage.rest.request import PatchType

_HEAD = """\
# Please edit the object below. Lines beginning with a '#' will be ignored,
# and an empty file will abort the edit. If an error occurs while saving this file will be
# reopened with the relevant failures.
#
"""


async def run(session: CommandSession, options: Selection) -> int:
    errors: list[PilotageError] = []
    report = Report(session, options)
    chosen = await named_objects(session, options, errors)
    attempts = Attempts(errors, len(chosen))
    for each in chosen:
        with attempts.one():
            await _edit(session, options, each, report)
    raise_all(errors)
    return 0


def check(options: Selection) -> None:
    """Refuse a format that is not one of a file to edit, and files that cannot be read. Raises CommandError."""
    if options.output not in ("", "yaml", "json"):
        raise CommandError(f"-o {options.output}: the file to edit is yaml or json")
    files.check(options)


async def _edit(session: CommandSession, options: Selection, each: SelectedObjects, report: Report) -> None:
    old = without_managed_fields(await session.get(each.mapping, each.name, each.namespace))
    write = as_json if options.output == "json" else as_yaml
    name = f"{each.mapping.resource.resource}-{each.name}.{options.output or 'yaml'}"
    with temporary_file(name, session.errors.line) as file:
        text, refusal = f"{_HEAD}{write(old)}", None
        while True:
            content = _content(await edit_text(file, text))
            if not content.strip() or content == _content(text):
                if refusal is None:
                    session.errors.line("Edit cancelled, no changes made.")
                    return
                file.write(text)  # the user may have emptied the file
                session.errors.line("Edit cancelled, no valid changes were saved.")
                raise refusal
            try:
                await _save(session, each, old, content, report)
                return
            except (ApiError, CommandError) as error:
                text, refusal = f"{_HEAD}{_comment(each, error)}{content}", error


async def _save(session: CommandSession, each: SelectedObjects, old: Document, text: str, report: Report) -> None:
    try:
        new = yamltext.read(text)
    except DecodeError as error:
        raise CommandError(str(error)) from error
    if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
        raise CommandError("the file is not an object with metadata")
    if new["metadata"].get("name") != each.name or new.get("kind") != old["kind"]:
        raise CommandError("the kind and the name of the object may not be changed")
    patch = merge_diff(old, new)
    if not patch:
        session.errors.line("Edit cancelled, no changes made.")
        return
    write = session.write_options(field_validation="Strict")
    key = each.namespace, each.name
    try:
        edited, _ = await session.patch(each.mapping, key, patch, PatchType.MERGE, write)
    except Invalid as error:  # kube-apiserver quotes the whole object before a field that it does not know
        unknown = re.search(r"strict decoding error: .*", str(error))
        raise CommandError(unknown[0]) if unknown else error from None
    report.add(each.mapping, edited, "edited")


def _content(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))


def _comment(each: SelectedObjects, error: PilotageError) -> str:
    """The reason for opening a file again, as comments."""
    causes = [f"{cause.field}: {cause.message}" for cause in getattr(error, "causes", ())] or [str(error)]
    what = "could not be patched" if isinstance(error, Conflict | NotFound) else "was not valid"
    lines = [f'{each.mapping.resource.resource} "{each.name}" {what}:', *(f"* {cause}" for cause in causes)]
    return "".join(f"# {part}\n" for line in lines for part in line.splitlines()) + "#\n"
