"""The objects that a new cluster has: roles, priority classes, flow schemas, the `kubernetes` Service, APIServices.

They were recorded from a kube-apiserver 1.36.3. They are created in few commits when a storage that
lacks them is opened, so that they cost few revisions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

import msgspec

from pilotage.errors import RevisionConflict
from pilotage.meta.documents import Document
from pilotage.server import records
from pilotage.server.access.rbac import GROUP
from pilotage.server.bootstrap.owners import set_owner
from pilotage.server.bootstrap.roles import roles
from pilotage.server.context import RegistryContext
from pilotage.storage.interface import Operation, Put

_DATA = Path(__file__).parent / "data" / "cluster.json"
_NOW = b'"<now>"'
_AT_ONCE = 100  # an etcd allows 128 operations in a commit, unless it is configured otherwise


class _Row(msgspec.Struct):
    collection: str
    """The prefix of its key."""
    object: Document


async def create_cluster_objects(context: RegistryContext) -> None:
    """Create those that do not exist. Objects of an older version of the program stay as they are."""
    now = context.now()
    wanted: Iterable[tuple[str, Document]] = ()
    if context.authorization:
        wanted = roles()
    if context.contents is not None:
        wanted = chain(wanted, _recorded(now))
    puts: list[Operation] = []
    for collection, document in wanted:
        metadata = document["metadata"]
        namespace = f"{metadata['namespace']}/" if "namespace" in metadata else ""
        key = f"{context.prefix}{collection}{namespace}{metadata['name']}"
        if await context.storage.get(key) is None:
            if collection.startswith(GROUP):
                set_owner(document, "kube-apiserver", now)
            metadata |= {"uid": context.uid(), "creationTimestamp": now}
            puts.append(Put(key, records.encode(document), expected=0))
    for at in range(0, len(puts), _AT_ONCE):
        with suppress(RevisionConflict):  # another process creates them, too
            await context.commit(*puts[at : at + _AT_ONCE])


def _recorded(now: str) -> Iterator[tuple[str, Document]]:
    rows = msgspec.json.decode(_DATA.read_bytes().replace(_NOW, f'"{now}"'.encode()), type=list[_Row])
    return ((row.collection, row.object) for row in rows)
