"""`diff`: what `apply` would change."""

from __future__ import annotations

from difflib import unified_diff

from pilotage.errors import PilotageError
from pilotage.kit.arguments import COMMANDS
from pilotage.kit.arguments.writes import DiffArguments
from pilotage.kit.commands import apply
from pilotage.kit.commands.attempts import Attempts
from pilotage.kit.commands.files import manifests_of, owned, owners_of, placed
from pilotage.kit.exits import SeveralErrors, code_of, print_error
from pilotage.kit.printers.documents import as_yaml, without_managed_fields
from pilotage.kit.session import CommandSession
from pilotage.meta.documents import Document
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.redaction import LAST_APPLIED

DIFFERENT = 1
_SECRET_FIELDS = ("data", "stringData")


async def run(session: CommandSession, options: DiffArguments) -> int:
    """Print the differences of each object; the exit code shows whether there are any."""
    code = 0
    errors: list[PilotageError] = []
    manifests = manifests_of(options)
    owners = owners_of(session, options, manifests)
    attempts = Attempts(errors, len(manifests))
    for given in manifests:
        with attempts.one():
            mapping = await placed(session, given, options)
            manifest = await owned(owners, given)
            metadata = manifest.document["metadata"]
            live = await session.find(mapping, metadata["name"], metadata.get("namespace") or "")
            merged, _ = await apply.apply_one(session, options, mapping, manifest)
            if text := _difference(mapping, live, merged):
                session.report(session.output.difference(text))
                code = DIFFERENT
    if not errors:
        return code
    failure = SeveralErrors(errors)
    print_error(failure)
    return max(COMMANDS["diff"].least_failure, code_of(failure))


check = apply.check


def _difference(mapping: RESTMapping, live: Document | None, merged: Document) -> str:
    metadata = merged["metadata"]
    namespace = (metadata.get("namespace"),) if mapping.namespaced else ()
    file = ".".join(filter(None, (*mapping.gvk, *namespace, metadata["name"])))
    before, after = _masked(live or {}, merged)
    lines = unified_diff(_lines(before), _lines(after), f"LIVE/{file}", f"MERGED/{file}")
    return "".join(lines)


def _lines(document: Document) -> list[str]:
    return as_yaml(without_managed_fields(document)).splitlines(keepends=True) if document else []


def _without_last_applied(secret: Document) -> Document:
    """A copy without the annotation of kubectl that has the values, too."""
    metadata = dict(secret.get("metadata") or {})
    annotations = dict(metadata.get("annotations") or {})
    if annotations.pop(LAST_APPLIED, None) is not None:
        metadata["annotations"] = annotations
    return secret | {"metadata": metadata} if secret else {}


def _masked(live: Document, merged: Document) -> tuple[Document, Document]:
    """The objects without the values of a Secret; those that differ are marked."""
    if (merged.get("apiVersion"), merged.get("kind")) != ("v1", "Secret"):
        return live, merged
    before, after = _without_last_applied(live), _without_last_applied(merged)
    for field in _SECRET_FIELDS:
        old, new = live.get(field) or {}, merged.get(field) or {}
        changed = {key for key in old.keys() & new.keys() if old[key] != new[key]}
        for document, values, mark in ((before, old, " (before)"), (after, new, " (after)")):
            if values:
                document[field] = {key: f"***{mark if key in changed else ''}" for key in values}
    return before, after
