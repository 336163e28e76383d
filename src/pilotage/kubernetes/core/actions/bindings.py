"""`pods/binding`: assigns a Pod to a node, as a scheduler does."""

from __future__ import annotations

from msgspec.structs import replace

from pilotage.errors import BadRequest, Cause, Conflict, InternalError, RevisionConflict, Status, StatusDetails
from pilotage.meta.causes import not_supported, required
from pilotage.meta.conditions import with_condition
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.resources import ResourceInfo
from pilotage.server.subresources.actions import SUCCESS, BodyAction
from pilotage.server.writes import store

_PODS = GroupVersionResource("", "v1", "pods")
_OTHER_NAME = "name in URL does not match name in Binding object"


class Bindings(BodyAction):
    """Binds Pods to nodes."""

    kind = GroupVersionKind("", "v1", "Binding")

    def prepare(self, request: APIRequest, document: Document) -> None:
        """The binding may leave out the name of the Pod, which the path has."""
        name = document["metadata"].get("name", "")
        if name and name != request.name:
            raise BadRequest(_OTHER_NAME)

    async def act(self, info: ResourceInfo, request: APIRequest, document: Document) -> Response:
        await self._bind(info, request, document)
        return Response(SUCCESS, 201)

    async def _bind(self, info: ResourceInfo, request: APIRequest, binding: Document) -> None:
        """Assign the Pod of a request to the node of a binding. Raises Conflict if it has one already."""
        if binding["metadata"].get("name") != request.name:
            raise BadRequest(_OTHER_NAME)
        target = binding.get("target") or {}
        if causes := _problems(target):
            message = "; ".join(f"{cause.field}: {cause.message}" for cause in causes)
            raise InternalError(status=Status(500, "", message if len(causes) == 1 else f"[{message}]"))
        while True:
            entry = await self._context.entry(info, request)
            pod = records.internal(records.as_read(entry, info), info)
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


class NamespacedBindings(Bindings):
    """The older form of `pods/binding`: the Pod has the name of the binding."""

    def prepare(self, request: APIRequest, document: Document) -> None:
        if not document["metadata"].get("name"):
            raise BadRequest("Name parameter required.")

    async def act(self, info: ResourceInfo, request: APIRequest, document: Document) -> Response:
        pods = await self._context.catalogue.find(_PODS)
        named = replace(request, resource=_PODS, name=document["metadata"].get("name", ""))
        return await super().act(pods, named, document)


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
