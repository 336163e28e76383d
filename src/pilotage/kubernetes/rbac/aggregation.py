"""Fills in the rules of ClusterRoles that aggregate others (`aggregationRule`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress

import msgspec

from pilotage.errors import BadRequest, RevisionConflict
from pilotage.meta.documents import Document
from pilotage.meta.selectors.selectors import Selector
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.storage.interface import Put

CLUSTER_ROLES = "rbac.authorization.k8s.io/clusterroles/"


class _Metadata(msgspec.Struct):
    name: str
    labels: dict[str, str] | None = None


class _Role(msgspec.Struct, rename="camel"):
    """The fields that aggregation needs. Other fields (managed fields are large), and the rules of a role that no other
    role selects, are not decoded, because each change of a role reads all roles."""

    metadata: _Metadata
    aggregation_rule: Document | None = None
    rules: msgspec.Raw = msgspec.Raw(b"null")

    def own_rules(self) -> list[Document]:
        return msgspec.json.decode(self.rules) or []


_decoder = msgspec.json.Decoder(_Role)


async def aggregate_roles(context: RegistryContext) -> None:
    """Write the rules again whenever a ClusterRole changes."""
    prefix = context.prefix + CLUSTER_ROLES
    since = await _aggregate(context, prefix)
    async for _ in context.storage.watch(prefix, since=since):
        await _aggregate(context, prefix)


async def _aggregate(context: RegistryContext, prefix: str) -> int:
    """One round. A role that aggregates aggregated roles is updated in the next round, which the writes of this round
    start."""
    snapshot = await context.storage.list(prefix)
    entries = {entry.key: entry for entry in snapshot.entries}
    for key, value in aggregated({key: entry.value for key, entry in entries.items()}).items():
        with suppress(RevisionConflict):  # it was changed, so there is another round
            await context.commit(Put(key, value, expected=entries[key].revision))
    return snapshot.revision


def aggregated(values: Mapping[str, bytes]) -> dict[str, bytes]:
    """The stored ClusterRoles whose rules differ from the rules of the roles that they select, with the latter."""
    roles = {key: records.decode_as(_decoder, value) for key, value in values.items()}
    others = sorted(roles.values(), key=lambda role: role.metadata.name)
    return {
        key: records.encode(records.decode(values[key]) | {"rules": rules})
        for key, role in roles.items()
        if role.aggregation_rule and (rules := _rules(role, role.aggregation_rule, others)) != role.own_rules()
    }


def _rules(role: _Role, aggregation: Document, others: Iterable[_Role]) -> list[Document]:
    """The rules of all other roles that the selectors of a role select, each once."""
    found: list[Document] = []
    for each in aggregation.get("clusterRoleSelectors") or ():
        try:
            selector = Selector.from_label_selector(each)
        except BadRequest:
            continue
        for other in others:
            if other.metadata.name != role.metadata.name and selector.matches(other.metadata.labels or {}):
                found += [rule for rule in other.own_rules() if rule not in found]
    return found
