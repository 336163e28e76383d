"""`create`: from files, or from a type, a name and values."""

from __future__ import annotations

from pilotage.kit.arguments.planning import is_dry_run
from pilotage.kit.arguments.writes import CreateArguments
from pilotage.kit.commands import files
from pilotage.kit.commands.files import manifests_of, write_all
from pilotage.kit.console.errors import UsageError
from pilotage.kit.console.manifestfiles import Manifest
from pilotage.kit.exits import raise_all
from pilotage.kit.schemas import schema_of
from pilotage.kit.selection import mapping_of
from pilotage.kit.session import CommandSession
from pilotage.kit.setting import apply_settings, settings
from pilotage.meta.documents import Document
from pilotage.meta.mapping.mapper import RESTMapping


async def run(session: CommandSession, options: CreateArguments) -> int:
    if options.filename:
        manifests = manifests_of(options, named=False)
    else:
        manifests = [Manifest(await _document(session, options), "")]
    await _create_all(session, options, manifests)
    return 0


def check(options: CreateArguments) -> None:
    """Refuse arguments that contradict one another, and files that cannot be read. Raises CommandError."""
    if options.filename:
        if options.resources or options.set:
            raise UsageError("give either -f FILE, or TYPE NAME with --set")
    elif len(_words(options)) != 2:
        raise UsageError("give TYPE NAME, with fields as in --set spec.size=3, or -f FILE")
    files.check(options, named=False)


def _words(options: CreateArguments) -> list[str]:
    """The type and the name."""
    words: list[str] = options.resources
    return words[0].split("/") if len(words) == 1 else words


async def _document(session: CommandSession, options: CreateArguments) -> Document:
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


async def _create_all(session: CommandSession, options: CreateArguments, manifests: list[Manifest]) -> None:
    async def create(mapping: RESTMapping, manifest: Manifest) -> tuple[Document, str]:
        if options.dry_run == "client":
            return manifest.document, "created"
        write = session.write_options(is_dry_run(options), field_validation=options.validate)
        return await session.create(mapping, manifest.document, write), "created"

    _, errors = await write_all(session, options, manifests, "creating", create)
    raise_all(errors)
