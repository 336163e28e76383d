"""The plugin ResourceQuota: refuses what exceeds the quotas of a namespace, and charges what is created to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pilotage.codec.defaults.resources import Amounts
from pilotage.errors import RevisionConflict
from pilotage.kubernetes.core.plugins import quotausage
from pilotage.kubernetes.core.pods.containers.resources import parsed
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource
from pilotage.meta.scalars.quantity import Quantity
from pilotage.server import records
from pilotage.server.admission import Attributes, Operation
from pilotage.server.definitions import collection_of
from pilotage.server.plugins.plugin import Plugin, PluginContext, forbidden
from pilotage.storage.interface import Entry, Put

QUOTAS = collection_of("", "resourcequotas")
_UPDATED = (quotausage.PODS, quotausage.SERVICES, quotausage.CLAIMS)
"""Resources whose updates can change what they count for."""


class ResourceQuota(Plugin):
    """Enforces the quotas of namespaces."""

    async def validate(self, attributes: Attributes) -> None:
        resource, namespace = attributes.resource.group_resource, attributes.request.namespace
        if not namespace or attributes.new is None or not _is_charged(attributes, resource):
            return
        if (quotas := self.context.quotas) is not None and not await quotas.list():
            return  # from now on it is known that there are no quotas, and the plugin is skipped
        while entries := await self.context.entries(QUOTAS, namespace):
            charges = [await self._charge(attributes, resource, entry) for entry in entries]
            puts = [charge for charge in charges if charge is not None]
            if not puts or attributes.dry_run:
                return
            try:
                await self.context.storage.commit(*puts)
            except RevisionConflict:
                continue  # another object was charged to them meanwhile
            return

    async def _charge(self, attributes: Attributes, resource: GroupResource, entry: Entry) -> Put | None:
        """The write that charges an object to one quota; None if it does not count. Raises Forbidden."""
        quota, new, old = records.decode(entry.value), attributes.new or {}, attributes.old
        hard = parsed((quota.get("spec") or {}).get("hard"))
        requested = {name: amount for name, amount in quotausage.usage(resource, new).items() if name in hard}
        if (not requested and resource != quotausage.PODS) or not quotausage.is_in_scope(quota, resource, new):
            return None
        name = quota["metadata"]["name"]
        if resource == quotausage.PODS and (problem := quotausage.missing_resources(new, hard)):
            raise forbidden(attributes, f"failed quota: {name}: {problem}")
        before = quotausage.usage(resource, old) if old is not None else {}
        requested = {one: amount - before.get(one, Quantity(0)) for one, amount in requested.items()}
        requested = {one: amount for one, amount in requested.items() if amount != Quantity(0)}
        if not requested:
            return None
        used = await current_usage(self.context, quota)
        total = {one: used.get(one, Quantity(0)) + amount for one, amount in requested.items()}
        exceeded = sorted(one for one in requested if requested[one] > Quantity(0) and total[one] > hard[one])
        if exceeded:
            parts = (
                f"{word}: {_shown(amounts, exceeded)}"
                for word, amounts in (("requested", requested), ("used", used), ("limited", hard))
            )
            raise forbidden(attributes, f"exceeded quota: {name}, {', '.join(parts)}")
        return Put(entry.key, records.encode(with_usage(quota, used | total)), expected=entry.revision)


def _is_charged(attributes: Attributes, resource: GroupResource) -> bool:
    if attributes.operation is Operation.CREATE:
        return not attributes.subresource
    part = "resize" if resource == quotausage.PODS else ""
    return attributes.operation is Operation.UPDATE and resource in _UPDATED and attributes.subresource == part


def _shown(amounts: Mapping[str, Quantity], names: list[str]) -> str:
    return ",".join(f"{name}={amounts.get(name, Quantity(0))}" for name in names)


def with_usage(quota: Document, used: Amounts) -> Document:
    """A quota with its status."""
    hard = dict(sorted(((quota.get("spec") or {}).get("hard") or {}).items()))
    shown = {name: str(used.get(name, Quantity(0))) for name in hard}
    return quota | {"status": {"hard": hard, "used": shown}}


async def current_usage(context: PluginContext, quota: Document) -> Amounts:
    """What is used of a quota: by its status, or counted if the status is not about its limits yet."""
    hard, status = (quota.get("spec") or {}).get("hard") or {}, quota.get("status") or {}
    if status.get("hard") == hard:
        return parsed(status.get("used"))
    return await counted_usage(context, quota)


async def counted_usage(context: PluginContext, quota: Document) -> Amounts:
    """What the objects of its namespace use of a quota."""
    names = list((quota.get("spec") or {}).get("hard") or {})
    usages: list[Amounts] = []
    for resource in sorted(quotausage.counted_resources(names)):
        documents = await context.list(
            f"{resource.group or 'core'}/{resource.resource}/", quota["metadata"]["namespace"]
        )
        usages += [quotausage.usage(resource, one) for one in documents if quotausage.is_in_scope(quota, resource, one)]
    return quotausage.total(usages, names)


@dataclass(frozen=True, slots=True)
class QuotaStatus:
    """Computes the status of quotas."""

    context: PluginContext

    async def refresh(self, namespace: str) -> None:
        """Write the status of each quota of a namespace whose usage has changed."""
        for entry in await self.context.entries(QUOTAS, namespace):
            quota = records.decode(entry.value)
            value = records.encode(with_usage(quota, await counted_usage(self.context, quota)))
            if value == records.encode(quota):
                continue
            try:
                await self.context.storage.commit(Put(entry.key, value, expected=entry.revision))
            except RevisionConflict:
                continue  # its event in the log starts another attempt
