"""Limits, requests and claims of resources: of containers, of a pod as a whole, and its overhead."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Set

from pilotage.codec.defaults.resources import HUGE_PAGES, Amounts, amounts, of_pods, total
from pilotage.errors import Cause
from pilotage.kubernetes.checks import resourcenames
from pilotage.meta.causes import duplicate, forbidden, invalid, not_found, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.validation.names import dns_1123_label
from pilotage.server.strategies.checks import texts

NameCheck = Callable[[str, str], Iterator[Cause]]
_POD = ("cpu", HUGE_PAGES, "memory")
_ZERO = Quantity(0)


def validate_container_resources(resources: Document, path: str, claims: Set[str] = frozenset()) -> Iterator[Cause]:
    """The resources of a container; `claims` are the names of the pod's resource claims."""
    if resources:
        yield from _validate_requirements(resources, path, resourcenames.container_resource_name)
        yield from _validate_claims(resources, f"{path}.claims", claims)


def validate_pod_resources(spec: Document, path: str) -> Iterator[Cause]:
    """The resources of a pod as a whole, which its containers share."""
    resources = spec.get("resources")
    if resources is None:
        return
    at = f"{path}.resources"
    if (spec.get("os") or {}).get("name") == "windows":
        yield forbidden(at, "may not be set for a windows pod")
        return
    if resources.get("claims") is not None:
        yield forbidden(f"{at}.claims", "claims may not be set for Resources at pod-level")
    yield from _validate_requirements(resources, at, _validate_pod_name)
    names = frozenset(claim.get("name") or "" for claim in spec.get("resourceClaims") or ())
    yield from _validate_claims(resources, f"{at}.claims", names)
    yield from _validate_sums(spec, at)


def _validate_requirements(resources: Document, path: str, check_name: NameCheck) -> Iterator[Cause]:
    holder = {"resources": resources}
    limits, requests = amounts(holder, "limits"), amounts(holder, "requests")
    for kind, given in (("limits", limits), ("requests", requests)):
        for name, amount in given.items():
            at = f"{path}.{kind}[{name}]"
            yield from check_name(name, at)
            yield from _validate_amount(name, amount, at)
            if kind == "requests":
                yield from _validate_against_limit(name, amount, limits, path)
            yield from _validate_pages(name, amount, at)
    names = limits.keys() | requests.keys()
    if not names & {"cpu", "memory"} and any(name.startswith(HUGE_PAGES) for name in names):
        yield forbidden(path, "HugePages require cpu or memory")


def _validate_against_limit(name: str, amount: Quantity, limits: Amounts, path: str) -> Iterator[Cause]:
    limit = limits.get(name)
    if limit is None:
        if not resourcenames.can_be_overcommitted(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif amount != limit and not resourcenames.can_be_overcommitted(name):
        message = f"must be equal to {name} limit of {limit}"
        yield invalid(f"{path}.requests", str(amount), message)
    elif amount > limit:
        message = f"must be less than or equal to {name} limit of {limit}"
        yield invalid(f"{path}.requests", str(amount), message)


def _validate_amount(name: str, amount: Quantity, path: str) -> Iterator[Cause]:
    if amount < _ZERO:
        yield invalid(path, str(amount), "must be greater than or equal to 0")
    if resourcenames.is_whole(name) and amount.milli_value() % 1000:
        yield invalid(path, str(amount), "must be an integer")


def _validate_pages(name: str, amount: Quantity, path: str) -> Iterator[Cause]:
    if name.startswith(HUGE_PAGES) and not _is_whole_pages(name, amount):
        yield invalid(path, str(amount), f"{amount} is not positive integer multiple of {name}")


def _is_whole_pages(name: str, amount: Quantity) -> bool:
    try:
        size = Quantity(name.removeprefix(HUGE_PAGES))
    except ValueError:
        return False
    if size <= _ZERO or size.milli_value() % 1000:
        return False
    return amount.value() % size.value() == 0


def _validate_pod_name(name: str, path: str) -> Iterator[Cause]:
    causes = list(resourcenames.resource_name(name, path))
    yield from causes
    if not causes and not of_pods(name):
        yield not_supported(path, name, _POD)


def _validate_claims(resources: Document, path: str, known: Set[str]) -> Iterator[Cause]:
    keys: set[str] = set()  # claims, and claims with a request
    requested: Counter[str] = Counter()
    for index, claim in enumerate(resources.get("claims") or ()):
        at, name, request = f"{path}[{index}]", claim.get("name") or "", claim.get("request") or ""
        if not name:
            yield required(at)
            continue
        if name in keys:
            yield duplicate(at, name)
        else:
            yield from texts.optional_text(request, f"{at}.request", dns_1123_label)
            key = f"{name}/{request}" if request else name
            if key in keys:
                yield duplicate(at, key)
            elif not request:
                yield from (duplicate(at, name) for _ in range(requested[name]))
            keys.add(key)
            requested[name] += bool(request)
        if name not in known:
            which = f": {', '.join(sorted(known))}" if known else " which is empty"
            yield not_found(at, name, f"must be one of the names in pod.spec.resourceClaims{which}")


def _validate_sums(spec: Document, path: str) -> Iterator[Cause]:
    limits, requests = amounts(spec, "limits"), amounts(spec, "requests")
    for name, needed in total(spec, "requests").items():
        if name in requests and needed > requests[name]:
            message = f"must be greater than or equal to aggregate container requests of {needed}"
            yield invalid(f"{path}.requests[{name}]", str(requests[name]), message)
    for name, needed in total(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name in limits and needed > limits[name]:
            message = f"must be greater than or equal to aggregate container limits of {needed}"
            yield invalid(f"{path}.limits[{name}]", str(limits[name]), message)
    for index, container in enumerate(spec.get("containers") or ()):
        for name, limit in amounts(container, "limits").items():
            if name in limits and limit > limits[name]:
                message = f"must be less than or equal to pod limits of {limits[name]}"
                yield invalid(f"{path}.containers[{index}][{name}].limits", str(limit), message)
