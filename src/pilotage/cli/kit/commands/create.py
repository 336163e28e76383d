"""`create`: from files, or from a type, a name and values."""

from __future__ import annotations

import argparse

from pilotage.cli.errors import CommandError, UsageError
from pilotage.cli.kit.commands.files import manifests_of, placed
from pilotage.cli.kit.commands.written import Report, is_dry_run
from pilotage.cli.kit.exits import raise_all
from pilotage.cli.kit.schemas import schema_of
from pilotage.cli.kit.selection import mapping_of
from pilotage.cli.kit.session import CommandSession
from pilotage.cli.kit.setting import apply_settings, settings
from pilotage.cli.manifestfiles import Manifest
from pilotage.errors import ApiError, PilotageError, Status
from pilotage.meta.documents import Document


async def run(session: CommandSession, options: argparse.Namespace) -> int:
    if options.filename:
        await _create_all(session, options, manifests_of(options, named=False))
        return 0
    manifest = Manifest(await _document(session, options), "")
    await _create_all(session, options, [manifest])
    return 0


def check(options: argparse.Namespace) -> None:
    """Refuse arguments that contradict one another, and files that cannot be read. Raises CommandError."""
    if options.filename:
        if options.resources or options.set:
            raise UsageError("give either -f FILE, or TYPE NAME with --set")
        manifests_of(options, named=False)
    elif len(_words(options)) != 2:
        raise UsageError("give TYPE NAME, with fields as in --set spec.size=3, or -f FILE")


def _words(options: argparse.Namespace) -> list[str]:
    """The type and the name."""
    words: list[str] = options.resources
    return words[0].split("/") if len(words) == 1 else words


async def _document(session: CommandSession, options: argparse.Namespace) -> Document:
    kind, name = _words(options)
    mapping = mapping_of(session, kind)
    schema = await schema_of(session, mapping)
    document: Document = {"apiVersion": mapping.gvk.api_version, "kind": mapping.gvk.kind, "metadata": {}}
    if schema is not None and "spec" in (schema.get("required") or ()):
        document["spec"] = {}  # its own fields may all have defaults
    apply_settings(document, settings(options.set, schema))
    if document["metadata"].setdefault("name", name) != name:
        raise UsageError(
            f"--set metadata.name={document['metadata']['name']}: the name is the argument after the type: {name}; "
            "give one of them"
        )
    return document


async def _create_all(session: CommandSession, options: argparse.Namespace, manifests: list[Manifest]) -> None:
    report = Report(session, options)
    errors: list[PilotageError] = []
    for manifest in manifests:
        try:
            mapping = await placed(session, manifest, options)
            if options.dry_run == "client":
                created = manifest.document
            else:
                write = session.write_options(is_dry_run(options), field_validation=options.validate)
                created = await session.create(mapping, manifest.document, write)
        except PilotageError as error:
            errors.append(with_source(error, "creating", manifest.source))
            if isinstance(error, ApiError | CommandError):
                continue
            break  # the server or the storage cannot be reached
        report.add(mapping, created, "created")
    raise_all(errors)


def with_source(error: PilotageError, doing: str, source: str) -> PilotageError:
    """The error with the file of its object, if the server has refused it."""
    if not source or not isinstance(error, ApiError):
        return error
    status = error.status
    message = f'error when {doing} "{source}": {status.message}'
    return type(error)(status=Status(status.code, status.reason, message, status.details))
