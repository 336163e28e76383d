"""The plugin LimitRanger: LimitRanges set the resources of containers, and limit the resources of Pods and claims."""

from __future__ import annotations

from collections.abc import Iterator

from pilotage.codec.defaults.containers import containers
from pilotage.codec.defaults.resources import Amounts
from pilotage.kubernetes.core.pods.containers.resources import parsed, pod_total
from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity
from pilotage.server.admission import Attributes, Operation
from pilotage.server.plugins.plugin import Plugin, forbidden, section

_LIMIT_RANGES = "core/limitranges/"
_ANNOTATION = "kubernetes.io/limit-ranger"


class LimitRanger(Plugin):
    """Sets defaults of containers, and refuses what exceeds the limits of the namespace."""

    async def mutate(self, attributes: Attributes) -> None:
        if not _is_limited(attributes) or attributes.resource.resource != "pods" or attributes.new is None:
            return
        for limit_range in await self._ranges(attributes):
            set_defaults(attributes.new, limit_range)

    async def validate(self, attributes: Attributes) -> None:
        if not _is_limited(attributes) or attributes.new is None:
            return
        for limit_range in await self._ranges(attributes):
            if problems := list(limit_problems(attributes.resource.resource, attributes.new, limit_range)):
                unique = list(dict.fromkeys(problems))
                raise forbidden(attributes, unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]")

    async def _ranges(self, attributes: Attributes) -> list[Document]:
        return await self.context.list(_LIMIT_RANGES, attributes.request.namespace)


def _is_limited(attributes: Attributes) -> bool:
    """Pods are checked when they are created or resized: other updates cannot change their resources."""
    if attributes.resource.resource == "pods":
        part = "resize" if attributes.operation is Operation.UPDATE else ""
        return attributes.subresource == part and attributes.new is not None
    return not attributes.subresource and attributes.operation is not Operation.DELETE


def _limits(limit_range: Document, kind: str) -> Iterator[Document]:
    for limit in section(limit_range, "spec").get("limits") or ():
        if limit.get("type") == kind:
            yield limit


def set_defaults(pod: Document, limit_range: Document) -> None:
    """Set the requests and limits of containers without them, in place, with an annotation of what was set."""
    requests: dict[str, str] = {}
    limits: dict[str, str] = {}
    for limit in _limits(limit_range, "Container"):
        requests |= limit.get("defaultRequest") or {}
        limits |= limit.get("default") or {}
    notes: list[str] = []
    for field, label in (("containers", "container"), ("initContainers", "init container")):
        for container in section(pod, "spec").get(field) or ():
            for part, defaults, word in (("requests", requests, "request"), ("limits", limits, "limit")):
                if names := _set_missing(section(container, "resources"), part, defaults):
                    notes.append(f"{', '.join(sorted(names))} {word} for {label} {container.get('name', '')}")
    if notes:
        annotations = section(section(pod, "metadata"), "annotations")
        annotations[_ANNOTATION] = f"LimitRanger plugin set: {'; '.join(notes)}"


def _set_missing(resources: Document, part: str, defaults: dict[str, str]) -> list[str]:
    missing = [name for name in defaults if name not in (resources.get(part) or {})]
    for name in missing:
        section(resources, part)[name] = defaults[name]
    return missing


def limit_problems(resource: str, document: Document, limit_range: Document) -> Iterator[str]:
    """What a LimitRange does not allow about a Pod or a claim."""
    spec = section(document, "spec")
    if resource == "persistentvolumeclaims":
        requests = parsed((spec.get("resources") or {}).get("requests"))
        for limit in _limits(limit_range, "PersistentVolumeClaim"):
            yield from _minimum(limit, "PersistentVolumeClaim", requests, {})
            yield from _maximum(limit, "PersistentVolumeClaim", requests, None)
        return
    for limit in section(limit_range, "spec").get("limits") or ():
        if limit.get("type") == "Container":
            for container in containers(spec, ("containers", "initContainers")):
                resources = container.get("resources") or {}
                requests = parsed(resources.get("requests"))
                yield from _problems(limit, "Container", requests, parsed(resources.get("limits")))
        elif limit.get("type") == "Pod":
            requests, limits = pod_total(spec, "requests"), pod_total(spec, "limits")
            yield from _problems(limit, "Pod", requests, limits)


def _problems(limit: Document, kind: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    yield from _minimum(limit, kind, requests, limits)
    yield from _maximum(limit, kind, requests, limits)
    for name, ratio in parsed(limit.get("maxLimitRequestRatio")).items():
        head = f"{name} max limit to request ratio per {kind} is {ratio}, but"
        request, upper = requests.get(name), limits.get(name)
        if request is None or request == Quantity("0"):
            yield f"{head} no request is specified or request is 0"
        elif upper is None or upper == Quantity("0"):
            yield f"{head} no limit is specified or limit is 0"
        elif (found := float(upper) / float(request)) > float(ratio):
            yield f"{head} provided ratio is {found:f}"


def _minimum(limit: Document, kind: str, requests: Amounts, limits: Amounts) -> Iterator[str]:
    for name, minimum in parsed(limit.get("min")).items():
        head, request, upper = f"minimum {name} usage per {kind} is {minimum}", requests.get(name), limits.get(name)
        if request is None:
            yield f"{head}.  No request is specified"
        elif request < minimum:
            yield f"{head}, but request is {request}"
        elif upper is not None and upper < minimum:
            yield f"{head}, but limit is {upper}"


def _maximum(limit: Document, kind: str, requests: Amounts, limits: Amounts | None) -> Iterator[str]:
    """`limits` is None where only requests count."""
    for name, maximum in parsed(limit.get("max")).items():
        head, request = f"maximum {name} usage per {kind} is {maximum}", requests.get(name)
        upper = limits.get(name) if limits is not None else request
        if upper is None:
            yield f"{head}.  No {'limit' if limits is not None else 'request'} is specified"
        elif upper > maximum:
            yield f"{head}, but {'limit' if limits is not None else 'request'} is {upper}"
        elif request is not None and request > maximum:
            yield f"{head}, but request is {request}"
