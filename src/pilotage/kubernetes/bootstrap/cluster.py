"""The objects that a new cluster has: roles, priority classes, flow schemas, the `kubernetes` Service, APIServices.

They were recorded from a kube-apiserver 1.36.3. They are created in few commits when a storage that
lacks them is opened, so that they cost few revisions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from ipaddress import ip_network
from pathlib import Path

import msgspec

from pilotage.errors import RevisionConflict
from pilotage.kubernetes.core.services.addresses import ADOPTED
from pilotage.kubernetes.core.services.ranges import SERVICE_RANGES, families_of
from pilotage.kubernetes.rbac.aggregation import CLUSTER_ROLES, aggregated
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.access.rbac import GROUP
from pilotage.server.context import RegistryContext
from pilotage.server.ownership.owners import set_owner
from pilotage.storage.interface import Operation, Put
from pilotage.telemetry.logs import logger

_log = logger("pilotage.server")
_DATA = Path(__file__).parent / "data" / "cluster.json"
_NOW = "<now>"
_UID = "<uid>"
_KUBERNETES, _DEFAULT_CIDR = "core/services/default/kubernetes", "networking.k8s.io/servicecidrs/kubernetes"
_AT_ONCE = 100  # an etcd allows 128 operations in a commit, unless it is configured otherwise
_ROLES_DATA = Path(__file__).parent / "data" / "roles.json"
_KINDS = {
    "clusterroles": "ClusterRole",
    "clusterrolebindings": "ClusterRoleBinding",
    "roles": "Role",
    "rolebindings": "RoleBinding",
}


class _Row(msgspec.Struct):
    collection: str
    """The prefix of its key."""
    object: Document


async def create_cluster_objects(ranges: Sequence[str], context: RegistryContext) -> None:
    """Create the objects that do not exist. Objects that an older version of the program created are not changed, and
    damaged ones neither: the server starts with them."""
    now = context.now().encode()
    wanted: dict[str, bytes] = {}
    if context.authorization:
        wanted |= _roles()
    if context.contents is not None:
        wanted |= _of_network(_recorded(), ranges)
        if await context.stored.get(f"{context.prefix}{_KUBERNETES}") is None:
            wanted[ADOPTED] = b""
        await _add_family(context, list(ranges))
    puts: list[Operation] = []
    for below, value in wanted.items():
        key = context.prefix + below
        if await context.stored.get(key) is None:
            stored = value.replace(_NOW.encode(), now).replace(_UID.encode(), context.uid().encode())
            puts.append(Put(key, stored, expected=0))
    for at in range(0, len(puts), _AT_ONCE):
        with suppress(RevisionConflict):  # another process creates them, too
            await context.commit(*puts[at : at + _AT_ONCE])


def _of_network(recorded: dict[str, bytes], ranges: Sequence[str]) -> dict[str, bytes]:
    """The recorded objects with the ranges of the cluster, and the first address of them for `kubernetes`."""
    first = ip_network(ranges[0])[1]
    values = {b'"<cidrs>"': msgspec.json.encode(list(ranges))[1:-1]}
    values |= {b"<address>": str(first).encode(), b"<family>": families_of(ranges)[0].encode()}
    made: dict[str, bytes] = {}
    for key, value in recorded.items():
        for mark, text in values.items():
            value = value.replace(mark, text)
        made[key.replace("<address>", str(first))] = value
    return made


async def _add_family(context: RegistryContext, ranges: list[str]) -> None:
    """Add the second range to the default ServiceCIDR of a cluster that has one, if the first one is the same."""
    try:
        entry = await context.storage.get(f"{context.prefix}{_DEFAULT_CIDR}")
    except records.UnreadableObject:  # it is named in the log, and created again when it was deleted
        return
    if entry is None or tuple(ranges) == SERVICE_RANGES:
        return
    document = records.decode(entry.value)
    cidrs = document["spec"]["cidrs"]
    if cidrs not in (ranges, ranges[:1]):
        shown = {"kept": ",".join(cidrs), "ignored": ",".join(ranges)}
        _log.warning("The cluster has other service ranges, which stay; create a ServiceCIDR to add one", **shown)
    elif cidrs != ranges:
        value = records.encode(document | {"spec": {"cidrs": ranges}})
        with suppress(RevisionConflict):  # another process does the same
            await context.commit(Put(entry.key, value, expected=entry.revision))


@cache  # a suite of tests opens thousands of clusters
def _roles() -> dict[str, bytes]:
    """The stored bytes of the roles and bindings, by the key below the tenant's prefix."""
    found: dict[str, bytes] = {}
    for collection, document in _bootstrap_roles():
        set_owner(document, "kube-apiserver", _NOW)
        found |= _stored(collection, document)
    while changed := aggregated({key: found[key] for key in found if key.startswith(CLUSTER_ROLES)}):
        found |= changed
    return found


@cache
def _recorded() -> dict[str, bytes]:
    """The same of the other objects."""
    found: dict[str, bytes] = {}
    for row in msgspec.json.decode(_DATA.read_bytes(), type=list[_Row]):
        found |= _stored(row.collection, row.object)
    return found


def _stored(collection: str, document: Document) -> dict[str, bytes]:
    metadata = document["metadata"]
    metadata |= {"uid": _UID, "creationTimestamp": _NOW}
    namespace = f"{metadata['namespace']}/" if "namespace" in metadata else ""
    return {f"{collection}{namespace}{metadata['name']}": records.encode(document)}


def _bootstrap_roles() -> Iterator[tuple[str, Document]]:
    """The roles and bindings, each with the prefix of its key."""
    rows: dict[str, list[Document]] = msgspec.json.decode(_ROLES_DATA.read_bytes())
    for resource, kind in _KINDS.items():
        for row in rows[resource]:
            metadata: Document = {"name": row.pop("name")}
            if "namespace" in row:
                metadata["namespace"] = row.pop("namespace")
            metadata["annotations"] = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
            metadata["labels"] = {"kubernetes.io/bootstrapping": "rbac-defaults", **row.pop("labels", {})}
            yield f"{GROUP}/{resource}/", {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": metadata, **row}
