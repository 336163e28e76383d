"""`pods/eviction`: deletes a Pod if its disruption budget allows it."""

from __future__ import annotations

from msgspec.structs import replace

from pilotage.errors import (
    ApiError,
    BadRequest,
    Cause,
    Forbidden,
    InternalError,
    Status,
    StatusDetails,
    TooManyRequests,
)
from pilotage.meta.conditions import with_condition
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.paths import is_condition_true
from pilotage.meta.selectors.selectors import Selector
from pilotage.rest.request import APIRequest, DeleteOptions, Verb, WriteOptions
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.resources import ResourceInfo
from pilotage.server.subresources.actions import SUCCESS, BodyAction
from pilotage.server.verbs.delete import Deleter
from pilotage.server.verbs.update import Updater
from pilotage.server.writes.deletion import check_preconditions

_BUDGETS = GroupVersionResource("policy", "v1", "poddisruptionbudgets")
_MOST_DISRUPTED = 2000
_RETRY_SECONDS = 10
_SEVERAL = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
_VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."


class Evictions(BodyAction):
    """Evicts Pods within the limits of their disruption budgets."""

    kind = GroupVersionKind("policy", "v1", "Eviction")

    def __init__(self, context: RegistryContext) -> None:
        super().__init__(context)
        self._deleter = Deleter(context)
        self._updater = Updater(context)

    def prepare(self, request: APIRequest, document: Document) -> None:
        if document["metadata"].get("name", "") != request.name:
            raise BadRequest("name in URL does not match name in Eviction object")

    async def act(self, info: ResourceInfo, request: APIRequest, document: Document) -> Response:
        await self._evict(info, request, document)
        return Response(SUCCESS, 201)

    async def _evict(self, info: ResourceInfo, request: APIRequest, eviction: Document) -> None:
        """Delete the Pod of a request. Raises TooManyRequests if that would violate its budget."""
        options = _options(request, eviction)
        entry = await self._context.entry(info, request)
        pod = records.decode(records.as_read(entry, info))
        if not _needs_no_budget(pod):
            budgets = await self._budgets(pod)
            if len(budgets) > 1:
                raise InternalError(status=Status(500, "", _SEVERAL))
            if budgets and not _ignores_budget(pod, budgets[0]):
                await self._spend(budgets[0], request.name, dry_run=options.dry_run)
        if not options.dry_run:
            options = await self._mark_disrupted(info, request, options)
        deletion = replace(request, verb=Verb.DELETE, subresource="", delete=options, write=WriteOptions(), body=b"")
        await self._deleter.delete(info, deletion, admitted=True)

    async def _budgets(self, pod: Document) -> list[Document]:
        """The budgets whose selectors match a Pod."""
        prefix = f"{self._context.prefix}policy/poddisruptionbudgets/{pod['metadata']['namespace']}/"
        snapshot = await self._context.storage.list(prefix)
        budgets = [records.decode(records.stamp(entry.value, entry.revision)) for entry in snapshot.entries]
        return [budget for budget in budgets if _selects(budget, pod["metadata"].get("labels") or {})]

    async def _spend(self, budget: Document, pod: str, *, dry_run: bool) -> None:
        """Decrement the allowed disruptions of a budget. Raises TooManyRequests or Forbidden if there are none."""
        metadata = budget["metadata"]
        request = APIRequest(
            Verb.UPDATE,
            _BUDGETS,
            namespace=metadata["namespace"],
            name=metadata["name"],
            subresource="status",
            write=WriteOptions(dry_run=dry_run),
            user_agent="kube-apiserver",  # it is the server that spends the budget
        )
        now = self._context.now()

        def next_state(old: Document, _: bytes) -> tuple[Document, list[str]]:
            check_budget(old)
            return old | {"status": spent(old, pod, now)}, []

        check_budget(budget)
        if not dry_run:
            await self._updater.change(await self._context.catalogue.find(_BUDGETS), request, next_state)

    async def _mark_disrupted(self, info: ResourceInfo, request: APIRequest, options: DeleteOptions) -> DeleteOptions:
        """Set the condition DisruptionTarget. The version that the delete expects, if any, is the new one."""
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting",
            "lastProbeTime": None,
            "lastTransitionTime": self._context.now(),
        }

        def next_state(old: Document, _: bytes) -> tuple[Document, list[str]]:
            check_preconditions(info, old, options)
            status = dict(old.get("status") or {})
            status["conditions"] = with_condition(status.get("conditions") or (), condition)
            return old | {"status": status}, []

        change = replace(request, verb=Verb.UPDATE, subresource="status", body=b"")
        marked = await self._updater.change(info, change, next_state, tracked=True, admitted=True)
        if options.resource_version is None:
            return options
        return replace(options, resource_version=records.decode(marked.body)["metadata"]["resourceVersion"])


def _options(request: APIRequest, eviction: Document) -> DeleteOptions:
    given = eviction.get("deleteOptions") or {}
    preconditions = given.get("preconditions") or {}
    return DeleteOptions(
        dry_run=request.write.dry_run or bool(given.get("dryRun")),
        grace_period_seconds=given.get("gracePeriodSeconds"),
        propagation_policy=given.get("propagationPolicy") or "",
        orphan_dependents=given.get("orphanDependents"),
        uid=preconditions.get("uid"),
        resource_version=preconditions.get("resourceVersion"),
    )


def _needs_no_budget(pod: Document) -> bool:
    """Whether a Pod is not running: it has ended, or has not started."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in ("Succeeded", "Failed", "Pending") or bool(pod["metadata"].get("deletionTimestamp"))


def _ignores_budget(pod: Document, budget: Document) -> bool:
    """Whether a Pod that is not ready may be evicted: no healthy Pod is disrupted."""
    if is_condition_true(pod, "Ready"):
        return False
    if (budget.get("spec") or {}).get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    return (status.get("currentHealthy") or 0) >= (status.get("desiredHealthy") or 0) > 0


def _selects(budget: Document, labels: dict[str, str]) -> bool:
    selector = (budget.get("spec") or {}).get("selector")
    if selector is None:
        return False
    try:
        return Selector.from_label_selector(selector).matches(labels)
    except ApiError:
        return False  # it was stored before selectors were validated


def check_budget(budget: Document) -> None:
    """Raise TooManyRequests or Forbidden if a budget allows no disruption now."""
    metadata, status = budget["metadata"], budget.get("status") or {}
    name = metadata["name"]
    if (status.get("observedGeneration") or 0) < (metadata.get("generation") or 0):
        raise _violation(f"The disruption budget {name} is still being processed by the server.", _RETRY_SECONDS)
    allowed = status.get("disruptionsAllowed") or 0
    details = StatusDetails(name=name, group="policy", kind="poddisruptionbudget")
    subject = f'poddisruptionbudget.policy "{name}" is forbidden'
    if allowed < 0:
        raise Forbidden(f"{subject}: pdb disruptions allowed is negative", details=details)
    if len(status.get("disruptedPods") or ()) > _MOST_DISRUPTED:
        raise Forbidden(
            f"{subject}: DisruptedPods map too big - too many evictions not confirmed by PDB controller",
            details=details,
        )
    if allowed == 0:
        raise _violation(f"The disruption budget {name} {_exhausted(status)}")


def _exhausted(status: Document) -> str:
    """Why a budget allows no disruption."""
    refused = "does not allow evicting pods currently"
    conditions = (one for one in status.get("conditions") or () if one.get("type") == "DisruptionAllowed")
    condition: Document = next(conditions, {})
    message = condition.get("message") if condition.get("status") == "False" else ""
    reason = condition.get("reason", "")
    if message and reason == "SyncFailed":  # then the counts may be wrong
        return f"{refused} because it failed sync: {message}"
    desired, current = status.get("desiredHealthy") or 0, status.get("currentHealthy") or 0
    if current <= desired:
        return f"needs {desired} healthy pods and has {current} currently"
    return f"{refused} ({reason}): {message}" if message else refused


def _violation(message: str, retry_seconds: int = 0) -> TooManyRequests:
    details = StatusDetails(causes=(Cause("DisruptionBudget", message),), retry_after_seconds=retry_seconds)
    return TooManyRequests(_VIOLATION, details=details)


def spent(budget: Document, pod: str, now: str) -> Document:
    """The status of a budget after one disruption."""
    status = dict(budget["status"])
    status["disruptionsAllowed"] = status["disruptionsAllowed"] - 1
    status["disruptedPods"] = (status.get("disruptedPods") or {}) | {pod: now}
    if status["disruptionsAllowed"] == 0:
        condition = {
            "type": "DisruptionAllowed",
            "status": "False",
            "observedGeneration": status.get("observedGeneration") or 0,
            "lastTransitionTime": now,
            "reason": "InsufficientPods",
            "message": "",
        }
        others = [one for one in status.get("conditions") or () if one.get("type") != "DisruptionAllowed"]
        status["conditions"] = [*others, condition]
    return status
