"""The actions and connections of the kinds of Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.rest.request import Verb
from pilotage.server.kinds import Action

_CREATE = frozenset((Verb.CREATE,))
_CONNECT = frozenset((Verb.CREATE, Verb.GET))
_ANY = frozenset((Verb.CREATE, Verb.GET, Verb.UPDATE, Verb.PATCH, Verb.DELETE))
_HERE = "pilotage.kubernetes.core.actions"
_CONNECTIONS = f"{_HERE}.connections:Connections"
_PROXY = Action(_ANY, _CONNECTIONS, has_paths=True)

ACTIONS: Mapping[str, Mapping[str, Action]] = {
    "bindings": {"": Action(_CREATE, f"{_HERE}.bindings:NamespacedBindings")},
    "nodes": {"proxy": _PROXY},
    "pods": {
        "attach": Action(_CONNECT, _CONNECTIONS),
        "binding": Action(_CREATE, f"{_HERE}.bindings:Bindings"),
        "eviction": Action(_CREATE, "pilotage.kubernetes.policy.evictions:Evictions"),
        "exec": Action(_CONNECT, _CONNECTIONS),
        "log": Action(frozenset((Verb.GET,)), _CONNECTIONS),
        "portforward": Action(_CONNECT, _CONNECTIONS),
        "proxy": _PROXY,
    },
    "serviceaccounts": {"token": Action(_CREATE, f"{_HERE}.tokenrequests:TokenRequests")},
    "services": {"proxy": _PROXY},
}
"""By resource and subresource."""
