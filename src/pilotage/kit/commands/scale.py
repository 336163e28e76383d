"""`scale`: sets the number of replicas of objects that have a scale subresource."""

from __future__ import annotations

from pilotage.errors import Conflict, NotFound, PilotageError
from pilotage.kit.arguments.planning import is_dry_run
from pilotage.kit.arguments.writes import ScaleArguments
from pilotage.kit.commands.attempts import Attempts
from pilotage.kit.commands.files import check
from pilotage.kit.commands.get import objects_of
from pilotage.kit.console.errors import CommandError, UsageError
from pilotage.kit.exits import raise_all
from pilotage.kit.printers.documents import kind_of
from pilotage.kit.printers.written import Report
from pilotage.kit.selection import SelectedObjects
from pilotage.kit.session import CommandSession
from pilotage.meta.documents import Document
from pilotage.rest.request import PatchType

__all__ = ["check", "run"]


async def run(session: CommandSession, options: ScaleArguments) -> int:
    errors: list[PilotageError] = []
    chosen = await objects_of(session, options, errors)
    if not chosen and not errors:
        raise CommandError("no objects passed to scale")
    if options.resource_version and len(chosen) > 1:
        raise UsageError("cannot use --resource-version with multiple resources")
    report = Report(session, options)
    attempts = Attempts(errors, len(chosen), "scaling")
    for each in chosen:
        with attempts.one(each.source):
            report.add(each.mapping, await _scaled(session, options, each), "scaled")
    raise_all(errors)
    return 0


async def _scaled(session: CommandSession, options: ScaleArguments, each: SelectedObjects) -> Document:
    """Scale an object; returns the object as it is then, or would be."""
    document = await session.get(each.mapping, each.name, each.namespace)
    try:
        while not await _scale(session, options, each):
            pass
    except NotFound:
        await session.get(each.mapping, each.name, each.namespace)  # it may have been deleted
        raise CommandError(
            f'{kind_of(each.mapping.gvk)} "{each.name}" cannot be scaled: its type has no scale subresource; change '
            f"the field itself, as with patch {each.mapping.singular} {each.name} --set spec.FIELD={options.replicas}"
        ) from None
    if options.dry_run == "none":
        return await session.get(each.mapping, each.name, each.namespace) if options.output else document
    if "replicas" in (document.get("spec") or {}):
        document["spec"]["replicas"] = options.replicas
    return document


async def _scale(session: CommandSession, options: ScaleArguments, each: SelectedObjects) -> bool:
    """Write the number of replicas. False: the object was written in between, and the conditions must be checked
    again. Raises CommandError if one does not hold."""
    patch: Document = {"spec": {"replicas": options.replicas}}
    conditional, version = options.current_replicas is not None or bool(options.resource_version), ""
    if conditional or options.dry_run == "client":
        scale = await session.get(each.mapping, each.name, each.namespace, "scale")
        now, version = scale["spec"].get("replicas") or 0, scale["metadata"]["resourceVersion"]
        if options.current_replicas not in (None, now):
            raise CommandError(f"Expected replicas to be {options.current_replicas}, was {now}")
        if options.resource_version not in ("", version):
            raise CommandError(f"Expected resource version to be {options.resource_version}, was {version}")
        patch |= {"metadata": {"resourceVersion": version}} if conditional else {}
    if options.dry_run == "client":
        return True
    write, key = session.write_options(is_dry_run(options)), (each.namespace, each.name)
    try:
        await session.patch(each.mapping, key, patch, PatchType.MERGE, write, "scale")
    except Conflict:
        if not conditional:
            raise
        scale = await session.get(each.mapping, each.name, each.namespace, "scale")
        if scale["metadata"]["resourceVersion"] == version:
            raise  # not because of another write: a webhook may answer so, and would again
        return False
    return True
