"""`pods/binding`: assigns a Pod to a node, as a scheduler does."""

from __future__ import annotations

from pilotage.errors import BadRequest, Cause, Conflict, InternalError, RevisionConflict, Status, StatusDetails
from pilotage.meta.causes import not_supported, required
from pilotage.meta.conditions import with_condition
from pilotage.meta.documents import Document
from pilotage.rest.request import APIRequest
from pilotage.server import records
from pilotage.server.context import RegistryContext
from pilotage.server.resources import ResourceInfo
from pilotage.server.writes import store


class Scheduling:
    """Binds Pods to nodes."""

    def __init__(self, context: RegistryContext) -> None:
        self._context = context

    async def bind(self, info: ResourceInfo, request: APIRequest, binding: Document) -> None:
        """Assign the Pod of a request to the node of a binding. Raises Conflict if it has one already."""
        if binding["metadata"].get("name") != request.name:
            raise BadRequest("name in URL does not match name in Binding object")
        target = binding.get("target") or {}
        if causes := _problems(target):
            message = "; ".join(f"{cause.field}: {cause.message}" for cause in causes)
            raise InternalError(status=Status(500, "", message if len(causes) == 1 else f"[{message}]"))
        while True:
            entry = await self._context.entry(info, request)
            pod = records.internal(records.view(entry, info), info)
            if reason := _refusal(pod):
                raise _conflict(request.name, reason, kind="pods/binding")
            if reason := _wrong_uid(pod, binding):
                raise _conflict(request.name, reason, kind="pods")
            bound = assigned(pod, binding, self._context.now())
            try:
                await store.update(
                    self._context, info, bound, entry, dry_run=request.write.dry_run, fences=request.fences
                )
            except RevisionConflict:
                continue  # another writer was faster
            return


def _problems(target: Document) -> list[Cause]:
    causes = []
    if target.get("kind", "") not in ("", "Node"):
        causes.append(not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
    if not target.get("name"):
        causes.append(required("target.name"))
    return causes


def _refusal(pod: Document) -> str:
    """Why a Pod cannot be assigned to a node; empty if it can."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    name = metadata["name"]
    if metadata.get("deletionTimestamp"):
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def _wrong_uid(pod: Document, binding: Document) -> str:
    found, wanted = pod["metadata"]["uid"], binding["metadata"].get("uid")
    if not wanted or wanted == found:
        return ""
    return f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {found}"


def _conflict(name: str, reason: str, *, kind: str) -> Conflict:
    details = StatusDetails(name=name, kind=kind)
    return Conflict(f'Operation cannot be fulfilled on {kind} "{name}": {reason}', details=details)


def assigned(pod: Document, binding: Document, now: str) -> Document:
    """The Pod on its node: with the labels and annotations of the binding, and the condition PodScheduled."""
    metadata = dict(pod["metadata"])
    for field in ("labels", "annotations"):
        if binding["metadata"].get(field):
            metadata[field] = (metadata.get(field) or {}) | binding["metadata"][field]
    spec = (pod.get("spec") or {}) | {"nodeName": binding["target"]["name"]}
    status = dict(pod.get("status") or {})
    scheduled = {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": now}
    status["conditions"] = with_condition(status.get("conditions") or (), scheduled)
    return pod | {"metadata": metadata, "spec": spec, "status": status}
