"""`replace`: an object that exists becomes what is in a file; with `--force` it is deleted, and created again."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from pilotage.errors import AlreadyExists, PilotageError
from pilotage.kit.arguments.planning import is_dry_run
from pilotage.kit.arguments.writes import ReplaceArguments
from pilotage.kit.commands import files
from pilotage.kit.commands.attempts import Attempts
from pilotage.kit.commands.delete import delete_one, wait_gone
from pilotage.kit.commands.files import manifests_of, owned, owners_of, placed, selected_by
from pilotage.kit.console.errors import UsageError
from pilotage.kit.console.manifestfiles import Manifest
from pilotage.kit.exits import raise_all
from pilotage.kit.printers.written import Report
from pilotage.kit.session import CommandSession
from pilotage.meta import paths
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.mapping.mapper import RESTMapping

_SERVICE = GroupVersionKind("", "v1", "Service")


async def run(session: CommandSession, options: ReplaceArguments) -> int:
    report = Report(session, options)
    errors: list[PilotageError] = []
    owners = owners_of(session, options, manifests_of(options))
    manifests = owners.ordered()
    attempts = Attempts(errors, len(manifests), "replacing")
    for given in manifests:
        with attempts.one(given.source):
            mapping = await placed(session, given, options)
            manifest = await owned(owners, given)
            document = manifest.document
            if options.recreate:
                document = await _recreated(session, options, mapping, manifest)
            elif options.dry_run != "client":
                document = await _replaced(session, options, mapping, document)
            report.add(mapping, document, "replaced")
    raise_all(errors)
    return 0


def check(options: ReplaceArguments) -> None:
    """Refuse options that contradict one another, and files that cannot be read. Raises CommandError."""
    if not options.filename:
        raise UsageError("must specify -f: a file, a folder, or - for standard input")
    for flag, given in (("--grace-period", options.grace_period >= 0), ("--timeout", options.timeout)):
        if given and not options.recreate:
            raise UsageError(f"{flag} must have --force specified")
    if options.recreate and options.dry_run != "none":
        raise UsageError("--dry-run can not be used when --force is set")
    files.check(options)


async def _replaced(
    session: CommandSession, options: ReplaceArguments, mapping: RESTMapping, document: Document
) -> Document:
    """Replace an object. Without a version in the file it is the one that is stored, whatever version that has."""
    metadata = document["metadata"]
    if not metadata.get("resourceVersion"):
        live = await session.get(mapping, metadata["name"], metadata.get("namespace") or "")
        document = document | {"metadata": metadata | {"resourceVersion": live["metadata"]["resourceVersion"]}}
    write = session.write_options(is_dry_run(options), field_validation=options.validate)
    return await session.update(mapping, document, write)


async def _recreated(
    session: CommandSession, options: ReplaceArguments, mapping: RESTMapping, manifest: Manifest
) -> Document:
    """Delete an object, if it exists, and create the object of the file. One whose replacement the server refuses is
    not deleted."""
    metadata = dict(manifest.document["metadata"])
    for name in ("resourceVersion", "uid"):
        metadata.pop(name, None)
    document = manifest.document | {"metadata": metadata}
    key = metadata["name"], metadata.get("namespace") or ""
    live = await session.find(mapping, *key)
    if live is not None:
        checked = _without_allocated(document, live) if mapping.gvk == _SERVICE else document
        with suppress(AlreadyExists):  # it is valid: whether the name is free is checked last
            await session.create(mapping, checked, session.write_options(True, field_validation=options.validate))
        deleted = await delete_one(session, options, selected_by(manifest, mapping))
        if await session.find(mapping, *key) is not None:  # only a wait needs the rights to list and to watch
            await wait_gone(session, deleted, options.timeout)
    return await session.create(mapping, document, session.write_options(field_validation=options.validate))


def _without_allocated(service: Document, live: Document) -> Document:
    """A Service without the addresses and node ports of the one that it replaces. They are free once that is deleted,
    but a server that checks the new one before refuses them."""
    spec, own = service.get("spec"), live["spec"]
    if not isinstance(spec, dict):
        return service  # which is refused
    addresses = [each for each in paths.items(own, "clusterIPs") if each != "None"]
    wanted = [each for each in (spec.get("clusterIP"), *paths.items(spec, "clusterIPs")) if each]
    left_out = {"clusterIP", "clusterIPs"} if all(each in addresses for each in wanted) else set()
    if spec.get("healthCheckNodePort") == own.get("healthCheckNodePort"):
        left_out.add("healthCheckNodePort")
    spec = {name: value for name, value in spec.items() if name not in left_out}
    node_ports = [each["nodePort"] for each in paths.items(own, "ports") if "nodePort" in each]
    if ports := paths.items(spec, "ports"):
        spec["ports"] = [_without_node_port(each, node_ports) for each in ports]
    return service | {"spec": spec}


def _without_node_port(port: Any, node_ports: list[int]) -> Any:
    if paths.mapping(port).get("nodePort") not in node_ports:
        return port
    return {name: value for name, value in port.items() if name != "nodePort"}
