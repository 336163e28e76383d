"""Subresources that are actions or connections rather than a part of an object."""

from __future__ import annotations

from pilotage.rest.request import APIRequest
from pilotage.server.kinds import Action
from pilotage.server.resources import ResourceInfo


def action_of(info: ResourceInfo, request: APIRequest) -> Action | None:
    """The action that a request is about; None if it is about an object or a part of one."""
    if not info.actions:
        return None
    name, _, _path = request.subresource.partition("/")  # what follows `proxy` is the path of the service
    action = info.actions.get(name)
    return action if action is not None and (action.has_paths or name == request.subresource) else None
