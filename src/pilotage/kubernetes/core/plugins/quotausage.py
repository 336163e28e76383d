"""What an object counts for in a ResourceQuota, and which quotas are about it. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from pilotage.codec.defaults.containers import containers
from pilotage.codec.defaults.resources import HUGE_PAGES, Amounts
from pilotage.kubernetes.core.pods.affinity import pod_terms
from pilotage.kubernetes.core.pods.containers.resources import parsed, pod_total
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource
from pilotage.meta.scalars.quantity import Quantity

PODS = GroupResource("", "pods")
SERVICES = GroupResource("", "services")
CLAIMS = GroupResource("", "persistentvolumeclaims")
_ONE = Quantity(1)
_COUNTED = ("configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services")
"""Resources of the core group that are counted under their own name, besides `count/…`."""
_REQUIRED = frozenset(("cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"))
"""If a quota has one of these, each container must have it."""
_PLAIN = ("cpu", "memory", "ephemeral-storage")
_CLASS = ".storageclass.storage.k8s.io/"


def counted_resources(names: Iterable[str]) -> set[GroupResource]:
    """The resources whose objects a quota with these limits is about."""
    found: set[GroupResource] = set()
    for name in names:
        if name.startswith("count/"):
            resource, _, group = name.removeprefix("count/").partition(".")
            found.add(GroupResource(group, resource))
        elif name in _COUNTED:
            found.add(GroupResource("", name))
        elif name.startswith("services."):
            found.add(SERVICES)
        elif name == "requests.storage" or _CLASS in name:
            found.add(CLAIMS)
        else:
            found.add(PODS)
    return found


def usage(resource: GroupResource, document: Document) -> Amounts:
    """What one object counts for."""
    amounts: Amounts = {f"count/{resource}": _ONE}
    if not resource.group and resource.resource in _COUNTED:
        amounts[resource.resource] = _ONE
    if resource == PODS:
        amounts |= _pod_usage(document)
    elif resource == SERVICES:
        amounts |= _service_usage(document.get("spec") or {})
    elif resource == CLAIMS:
        amounts |= _claim_usage(document)
    return amounts


def _pod_usage(pod: Document) -> Amounts:
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return {}  # it has finished, and uses nothing
    spec = pod.get("spec") or {}
    requests, limits = pod_total(spec, "requests"), pod_total(spec, "limits")
    for name, amount in parsed(spec.get("overhead")).items():
        requests[name] = requests[name] + amount if name in requests else amount
        if name in limits:
            limits[name] = limits[name] + amount
    return {"pods": _ONE} | _compute(requests, limits)


def _compute(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> Amounts:
    amounts: Amounts = {}
    for name, amount in requests.items():
        if name in _PLAIN or name.startswith(HUGE_PAGES):
            amounts |= {name: amount, f"requests.{name}": amount}
        elif "/" in name:
            amounts[f"requests.{name}"] = amount
    return amounts | {f"limits.{name}": amount for name, amount in limits.items() if name in _PLAIN}


def _service_usage(spec: Document) -> Amounts:
    ports = Quantity(len(spec.get("ports") or ()))
    match spec.get("type"):
        case "NodePort":
            return {"services.nodeports": ports}
        case "LoadBalancer":
            allocated = ports if spec.get("allocateLoadBalancerNodePorts") is not False else Quantity(0)
            return {"services.loadbalancers": _ONE, "services.nodeports": allocated}
    return {}


def _claim_usage(claim: Document) -> Amounts:
    spec, metadata = claim.get("spec") or {}, claim["metadata"]
    storage = parsed((spec.get("resources") or {}).get("requests")).get("storage", Quantity(0))
    amounts: Amounts = {"requests.storage": storage}
    annotated = (metadata.get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    if name := annotated or spec.get("storageClassName"):
        amounts |= {f"{name}{_CLASS}requests.storage": storage, f"{name}{_CLASS}persistentvolumeclaims": _ONE}
    return amounts


def total(usages: Iterable[Amounts], names: Iterable[str]) -> Amounts:
    """The sum of what several objects count for, for these limits."""
    found = dict.fromkeys(names, Quantity(0))
    for amounts in usages:
        for name in found.keys() & amounts.keys():
            found[name] = found[name] + amounts[name]
    return found


def missing_resources(pod: Document, names: Iterable[str]) -> str:
    """Which resources containers must have because a quota limits them; empty if they have them."""
    spec = pod.get("spec") or {}
    if spec.get("resources"):
        return ""
    missing: dict[str, list[str]] = {}
    for container in containers(spec, ("containers", "initContainers")):
        resources = container.get("resources") or {}
        limits = parsed(resources.get("limits"))
        has = _compute(parsed(resources.get("requests")), limits)
        for name in sorted(_REQUIRED.intersection(names) - has.keys()):
            missing.setdefault(name, []).append(container.get("name", ""))
    parts = [f"{name} for: {','.join(containers)}" for name, containers in sorted(missing.items())]
    return f"must specify {'; '.join(parts)}" if parts else ""


def is_in_scope(quota: Document, resource: GroupResource, document: Document) -> bool:
    """Whether a quota is about an object: all of its scopes must match, and only Pods have scopes."""
    spec = quota.get("spec") or {}
    scopes = list(_scopes(spec))
    if not scopes:
        return True
    if resource != PODS:
        return False
    return all(_matches(scope, document) for scope in scopes)


def _scopes(spec: Document) -> Iterator[Document]:
    for name in spec.get("scopes") or ():
        yield {"scopeName": name, "operator": "Exists"}
    yield from (spec.get("scopeSelector") or {}).get("matchExpressions") or ()


def _matches(scope: Document, pod: Document) -> bool:
    spec = pod.get("spec") or {}
    match scope.get("scopeName"):
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return _is_best_effort(spec)
        case "NotBestEffort":
            return not _is_best_effort(spec)
        case "PriorityClass":
            return _selects(scope, spec.get("priorityClassName") or "")
        case "CrossNamespacePodAffinity":
            return any(_crosses_namespaces(term) for term in pod_terms(spec))
    return False


def _is_best_effort(spec: Document) -> bool:
    totals = [pod_total(spec, part) for part in ("requests", "limits")]
    return not any(amounts.get(name) for amounts in totals for name in ("cpu", "memory"))


def _selects(scope: Document, name: str) -> bool:
    values = scope.get("values") or ()
    match scope.get("operator"):
        case "In":
            return name in values
        case "NotIn":
            return name not in values
        case "DoesNotExist":
            return not name
    return bool(name)


def _crosses_namespaces(term: Document) -> bool:
    return bool(term.get("namespaces")) or term.get("namespaceSelector") is not None
