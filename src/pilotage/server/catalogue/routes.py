"""Checks the path and verb of a request: scope, names and subresources of a resource."""

from __future__ import annotations

from functools import cache

from pilotage.errors import BadRequest, MethodNotSupported, NotFound, StatusDetails
from pilotage.meta.kinds import GroupVersionResource
from pilotage.rest.request import APIRequest, Verb
from pilotage.rest.request import no_method as no_method
from pilotage.server.catalogue.actions import action_of
from pilotage.server.kinds import Action
from pilotage.server.resources import ResourceInfo
from pilotage.types import builtin

NO_PAGE = "404 page not found"
NO_RESOURCE = "the server could not find the requested resource"
_READS = (Verb.LIST, Verb.WATCH)
_UNNAMED = (*_READS, Verb.CREATE, Verb.DELETE_COLLECTION)
_NAMED = (Verb.UPDATE, Verb.PATCH)


def is_action(info: ResourceInfo, request: APIRequest) -> bool:
    """Whether a request is to an action."""
    return action_of(info, request) is not None


def check(info: ResourceInfo, request: APIRequest) -> None:
    """Raise the error for a path that does not exist; custom resources have other messages."""
    if request.subresource and (action := action_of(info, request)) is not None:
        _check_action(info, request, action)
        return
    known = not request.subresource or request.subresource in info.rules.subresources
    if info.custom:
        _check_custom(info, request, known=known)
    else:
        _check_builtin(info, request, known=known)


def _check_action(info: ResourceInfo, request: APIRequest, action: Action) -> None:
    if not _in_scope(info, request):
        raise no_resource()
    if request.verb not in action.verbs:
        raise no_method()


def no_resource() -> NotFound:
    """The 404 for a path within a built-in group that does not exist."""
    return NotFound(NO_RESOURCE, details=StatusDetails())


def no_path(route: str) -> NotFound:
    """The 404 for a path that names no resource: a page, but a Status within a built-in group."""
    match route.split("/"):
        case ["", "api", _, _, *_]:
            return no_resource()
        case ["", "apis", group, _, _, *_]:
            return not_served(group)
    return NotFound(NO_PAGE)


def not_served(group: str) -> NotFound:
    """The 404 for a resource that a group does not have: a page where the group is not built in."""
    return no_resource() if group in builtin_groups() else NotFound(NO_PAGE)


@cache
def builtin_groups() -> frozenset[str]:
    """The built-in groups: in others, a resource that is not served is not an error of the API."""
    return frozenset(mapping.resource.group for mapping in builtin.resources())


def no_verb(info: ResourceInfo, verb: str) -> MethodNotSupported:
    """The 405 for a resource that does not have a verb."""
    message = f'{verb} is not supported on resources of kind "{info.group_resource}"'
    return MethodNotSupported(message, details=info.details())


def _check_custom(info: ResourceInfo, request: APIRequest, *, known: bool) -> None:
    if not known:
        raise info.not_found(request.name)
    if not _in_scope(info, request):
        raise NotFound(NO_PAGE)
    if not request.name and request.verb in _NAMED:
        raise BadRequest("name must be provided")
    if request.subresource and request.verb in (Verb.CREATE, Verb.DELETE):
        raise no_verb(info, request.verb.value)


def _check_builtin(info: ResourceInfo, request: APIRequest, *, known: bool) -> None:
    wrong_scope = not _in_scope(info, request)
    only_created = info.verbs == (Verb.CREATE,)
    if not known or (wrong_scope and (request.name or not info.namespaced or only_created)):
        raise no_resource()
    if only_created and (request.name or (info.namespaced and not request.namespace)):
        raise no_resource()
    if request.verb is Verb.WATCH and Verb.LIST in info.verbs and Verb.WATCH not in info.verbs:
        raise no_verb(info, request.verb.value)
    verbs = _subresource_verbs(info.gvr, request.subresource) if request.subresource else info.verbs
    if wrong_scope or bool(request.name) != (request.verb not in _UNNAMED) or request.verb not in verbs:
        raise no_method()


@cache
def _subresource_verbs(gvr: GroupVersionResource, name: str) -> frozenset[Verb]:
    found = (each.verbs for each in builtin.subresources(gvr) if each.name == name)
    return frozenset(map(Verb, next(found, ())))


def _in_scope(info: ResourceInfo, request: APIRequest) -> bool:
    """A namespaced object is named with its namespace, a cluster-scoped one without; lists may span namespaces."""
    spans = info.namespaced and not request.namespace and request.verb in _READS and not request.name
    return spans or info.namespaced == bool(request.namespace)
