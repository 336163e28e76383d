"""`serviceaccounts/token`: issues a token of a service account."""

from __future__ import annotations

import msgspec

from pilotage.errors import BadRequest, Conflict, StatusDetails
from pilotage.meta.causes import invalid, invalid_error
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupKind, GroupVersionKind, GroupVersionResource
from pilotage.meta.scalars import times
from pilotage.rest.request import APIRequest
from pilotage.rest.response import Response
from pilotage.server import records
from pilotage.server.access.serviceaccounts import ISSUER
from pilotage.server.resources import ResourceInfo
from pilotage.server.strategies.checks import numbers
from pilotage.server.subresources.actions import BodyAction

_KIND = GroupKind("authentication.k8s.io", "TokenRequest")
_DEFAULT_SECONDS = 3600
_BOUND = {("", "Pod"): "pods", ("", "Secret"): "secrets", ("", "Node"): "nodes"}
"""By group and kind, in any version."""


class TokenRequests(BodyAction):
    """Issues tokens."""

    kind = GroupVersionKind(_KIND.group, "v1", _KIND.kind)

    def prepare(self, request: APIRequest, document: Document) -> None:
        """Set how long a token is valid if the request does not set it."""
        spec = document["spec"] = dict(document.get("spec") or {})
        spec["expirationSeconds"] = spec.get("expirationSeconds") or _DEFAULT_SECONDS

    async def act(self, info: ResourceInfo, request: APIRequest, document: Document) -> Response:
        """The token request with its token."""
        account = records.decode((await self._context.entry(info, request)).value)
        spec = document["spec"]
        _check_metadata(request, document)
        seconds = spec["expirationSeconds"]
        _check_seconds(seconds)
        audiences = spec.get("audiences") or [ISSUER]
        bound = await self._bound(request, spec.get("boundObjectRef"))
        issued = await self._context.service_accounts.issue(account, audiences, seconds, bound)
        metadata = document["metadata"] | {key: account["metadata"][key] for key in ("name", "namespace", "uid")}
        answer = {
            "kind": _KIND.kind,
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": metadata | {"creationTimestamp": self._context.now()},
            "spec": {
                "audiences": audiences,
                "expirationSeconds": seconds,
                "boundObjectRef": spec.get("boundObjectRef"),
            },
            "status": {"token": issued.token, "expirationTimestamp": times.format(issued.expires)},
        }
        return Response(msgspec.json.encode(answer), 201)

    async def _bound(self, request: APIRequest, reference: Document | None) -> Document | None:
        """The object that a token is bound to, with its uid. Raises NotFound or BadRequest."""
        if reference is None:
            return None
        api_version, kind = reference.get("apiVersion") or "", reference.get("kind") or ""
        group, _, version = api_version.rpartition("/")
        resource = _BOUND.get((group, kind))
        if resource is None:
            raise BadRequest(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
        info = await self._context.catalogue.find(GroupVersionResource("", "v1", resource))
        name = reference.get("name") or ""
        namespace = request.namespace if info.namespaced else ""
        entry = await self._context.storage.get(self._context.key(info, namespace, name))
        if entry is None:
            raise info.not_found(name)
        document = records.decode(entry.value)
        uid = document["metadata"]["uid"]
        if reference.get("uid") and reference["uid"] != uid:
            wanted = reference["uid"]
            reason = f"the UID in the bound object reference ({wanted}) does not match the UID in record. "
            text = f'{kind} "{name}": {reason}The object might have been deleted and then recreated'
            details = StatusDetails(name=name, kind=kind)
            raise Conflict(f"Operation cannot be fulfilled on {text}", details=details)
        if kind == "Pod" and (document.get("spec") or {}).get("serviceAccountName", "") != request.name:
            account = f'serviceaccount "{request.name}"'
            raise BadRequest(f"cannot bind token for {account} to pod running with different serviceaccount name.")
        node = (document.get("spec") or {}).get("nodeName", "") if kind == "Pod" else ""
        found = {"node": {"name": node, "uid": await self._node_uid(node)}} if node else {}
        return {"kind": kind, "apiVersion": api_version, "name": name, "uid": uid, **found}

    async def _node_uid(self, name: str) -> str:
        """The uid of a node; empty if it does not exist."""
        info = await self._context.catalogue.find(GroupVersionResource("", "v1", "nodes"))
        entry = await self._context.storage.get(self._context.key(info, "", name))
        return "" if entry is None else str(records.decode(entry.value)["metadata"]["uid"])


def _check_metadata(request: APIRequest, document: Document) -> None:
    for field, wanted in (("name", request.name), ("namespace", request.namespace)):
        found = document["metadata"].get(field)
        if found and found != wanted:
            detail = f"must match the service account {field} if specified"
            raise invalid_error(_KIND, request.name, [invalid(f"metadata.{field}", found, detail)])


def _check_seconds(seconds: int) -> None:
    if causes := list(numbers.token_lifetime(seconds, "spec.expirationSeconds")):
        raise invalid_error(_KIND, "", causes)
