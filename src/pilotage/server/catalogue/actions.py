"""Subresources that are actions or connections rather than a part of an object, and their verbs."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.meta.kinds import GroupResource, GroupVersionResource
from pilotage.rest.request import APIRequest, Verb

BINDINGS = GroupVersionResource("", "v1", "bindings")
_CREATE = frozenset((Verb.CREATE,))
_CONNECT = frozenset((Verb.CREATE, Verb.GET))
_ANY = frozenset((Verb.CREATE, Verb.GET, Verb.UPDATE, Verb.PATCH, Verb.DELETE))

ACTIONS: Mapping[tuple[GroupResource, str], frozenset[Verb]] = {
    (GroupResource("", "pods"), "attach"): _CONNECT,
    (GroupResource("", "pods"), "binding"): _CREATE,
    (GroupResource("", "pods"), "eviction"): _CREATE,
    (GroupResource("", "pods"), "exec"): _CONNECT,
    (GroupResource("", "pods"), "log"): frozenset((Verb.GET,)),
    (GroupResource("", "pods"), "portforward"): _CONNECT,
    (GroupResource("", "pods"), "proxy"): _ANY,
    (GroupResource("", "nodes"), "proxy"): _ANY,
    (GroupResource("", "services"), "proxy"): _ANY,
    (GroupResource("", "serviceaccounts"), "token"): _CREATE,
}


def action_of(request: APIRequest) -> str:
    """The action that a request is about; empty if it is about an object or a part of one."""
    if not request.subresource:
        return ""
    action = request.subresource.partition("/")[0]  # what follows `proxy` is the path of the service
    known = (request.resource.group_resource, action) in ACTIONS
    return action if known and (action == request.subresource or action == "proxy") else ""


def verbs_of(request: APIRequest) -> frozenset[Verb]:
    """The verbs of the action of a request."""
    return ACTIONS.get((request.resource.group_resource, action_of(request)), frozenset())
