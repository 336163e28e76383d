"""The objects of files: what a command selects by them, and the loop of the commands that write them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from pilotage.errors import NoMatch, PilotageError
from pilotage.kit.arguments.flags import Arguments, Files
from pilotage.kit.commands.attempts import Attempts
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.manifestfiles import Manifest, read_manifests
from pilotage.kit.console.owners import FileOwners
from pilotage.kit.exits import collected
from pilotage.kit.printers.written import Report, object_printer
from pilotage.kit.selection import SelectedObjects
from pilotage.kit.session import CommandSession
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.mapping.mapper import RESTMapping

Write = Callable[[RESTMapping, Manifest], Awaitable[tuple[Document, str]]]
"""Writes an object: what is stored then, and the outcome."""


async def selected_by_files(
    session: CommandSession, options: Files, errors: list[PilotageError]
) -> list[SelectedObjects]:
    """The objects of `-f`, by their names. `errors` gets the errors of objects without a resource or of another
    namespace."""
    found = []
    for manifest in manifests_of(options):
        with collected(errors):
            found.append(selected_by(manifest, await placed(session, manifest, options)))
    return found


def selected_by(manifest: Manifest, mapping: RESTMapping) -> SelectedObjects:
    """An object that is `placed`, by its name."""
    metadata = manifest.document["metadata"]
    return SelectedObjects(mapping, metadata["name"], metadata.get("namespace") or "", manifest.source)


def manifests_of(options: Files, *, named: bool = True) -> list[Manifest]:
    """The objects of `-f`, which are read once: one of the files may be standard input. Raises CommandError."""
    if not hasattr(options, "manifests"):
        recursive, command = options.recursive, options.object_command
        options.manifests = read_manifests(options.filename, recursive=recursive, named=named, command=command)
    return options.manifests


async def write_all(
    session: CommandSession, options: Files, manifests: Sequence[Manifest], doing: str, write: Write
) -> tuple[list[tuple[RESTMapping, Document]], list[PilotageError]]:
    """Write one object after the other, also after one that is refused, and print each; what was written, and the
    errors."""
    report = Report(session, options)
    written: list[tuple[RESTMapping, Document]] = []
    errors: list[PilotageError] = []
    owners = owners_of(session, options, manifests)
    ordered = owners.ordered()
    attempts = Attempts(errors, len(ordered), doing)
    for manifest in ordered:
        with attempts.one(manifest.source):
            mapping = await placed(session, manifest, options)
            document, outcome = await write(mapping, await owned(owners, manifest))
            written.append((mapping, document))
            report.add(mapping, document, outcome)
    return written, errors


def owners_of(session: CommandSession, options: Arguments, manifests: Sequence[Manifest]) -> FileOwners:
    """The owners of the objects of files. A dry run stores no owner: nothing is reported."""

    async def uid_of(gvk: GroupVersionKind, namespace: str, name: str) -> str:
        try:
            mapping = await session.mapping_of_any(gvk)
        except NoMatch:
            return ""
        found = await session.find(mapping, name, namespace)
        return found["metadata"]["uid"] if found else ""

    def warn(text: str) -> None:
        if options.dry_run == "none":
            session.errors.line(f"Warning: {text}")

    return FileOwners(manifests, uid_of, warn, keeps_missing=True)


async def owned(owners: FileOwners, manifest: Manifest) -> Manifest:
    """An object of a file with the uids of its owners."""
    return Manifest(await owners.resolved(manifest.document), manifest.source)


def check(options: Files, *, named: bool = True) -> None:
    """Refuse an unknown format of the output, and read the objects of `-f`, if there are any. Raises CommandError."""
    object_printer(options)
    if options.filename:
        manifests_of(options, named=named)


def _remedy(session: CommandSession, wanted: GroupVersionKind) -> str:
    """What to do about a kind that is not served: it is another one of its group, or its group is not installed."""
    from difflib import get_close_matches

    served = [mapping.gvk for mapping in session.mapper.mappings]
    in_group = [gvk for gvk in served if gvk.group == wanted.group]
    if same := [gvk for gvk in (*in_group, *(served if in_group else ())) if gvk.kind == wanted.kind]:
        return f'did you mean apiVersion "{same[0].api_version}"?'
    close = get_close_matches(wanted.kind, sorted({gvk.kind for gvk in in_group}), n=1, cutoff=0.75)
    return f'did you mean kind "{close[0]}"?' if close else "ensure CRDs are installed first"


async def placed(session: CommandSession, manifest: Manifest, options: Arguments) -> RESTMapping:
    """The resource of an object, whose namespace is filled in. Raises CommandError."""
    document = manifest.document
    wanted = GroupVersionKind.of(document["apiVersion"], document["kind"])
    try:
        mapping = await session.mapping(wanted)
    except NoMatch as error:
        metadata = document["metadata"]
        raise CommandError(
            f'resource mapping not found for name: "{metadata.get("name") or ""}" namespace: '
            f'"{metadata.get("namespace") or ""}" from "{manifest.source}": {error}\n{_remedy(session, wanted)}'
        ) from None
    metadata = document["metadata"]
    if not mapping.namespaced:
        metadata.pop("namespace", None)
        return mapping
    given = metadata.get("namespace")
    if given and options.namespace and given != options.namespace:
        raise CommandError(
            f'the namespace from the provided object "{given}" does not match the namespace "{options.namespace}". '
            f"You must pass '--namespace={given}' to perform this operation."
        )
    metadata["namespace"] = given or session.namespace
    return mapping
