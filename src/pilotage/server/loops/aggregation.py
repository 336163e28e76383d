"""Fills in the rules of ClusterRoles that are put together from others (`aggregationRule`)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from pilotage.errors import BadRequest, RevisionConflict
from pilotage.meta.documents import Document
from pilotage.meta.selectors import Selector
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.storage.interface import Put

CLUSTER_ROLES = "rbac.authorization.k8s.io/clusterroles/"


async def aggregate_roles(context: RegistryContext) -> None:
    """Write the rules again whenever a ClusterRole changes."""
    prefix = context.prefix + CLUSTER_ROLES
    since = await _aggregate(context, prefix)
    async for _ in context.storage.watch(prefix, since=since):
        await _aggregate(context, prefix)


async def _aggregate(context: RegistryContext, prefix: str) -> int:
    """One round. A role that is made of aggregated ones follows in the next round, which its parts' writes start."""
    snapshot = await context.storage.list(prefix)
    roles = {entry.key: records.decode(entry.value) for entry in snapshot.entries}
    for entry in snapshot.entries:
        role = roles[entry.key]
        if not role.get("aggregationRule"):
            continue
        rules = aggregated_rules(role, list(roles.values()))
        if rules != (role.get("rules") or []):
            with suppress(RevisionConflict):  # it was changed, so there is another round
                await context.commit(Put(entry.key, records.encode(role | {"rules": rules}), expected=entry.revision))
    return snapshot.revision


def aggregated_rules(role: Document, others: Sequence[Document]) -> list[Document]:
    """The rules of all other roles that the selectors of a role select, each once."""
    found: list[Document] = []
    for each in role["aggregationRule"].get("clusterRoleSelectors") or ():
        try:
            selector = Selector.from_label_selector(each)
        except BadRequest:
            continue
        for other in sorted(others, key=lambda other: str(other["metadata"]["name"])):
            if other["metadata"]["name"] == role["metadata"]["name"]:
                continue
            if selector.matches(other["metadata"].get("labels") or {}):
                found += [rule for rule in other.get("rules") or () if rule not in found]
    return found
