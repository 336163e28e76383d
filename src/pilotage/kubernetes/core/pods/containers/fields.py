"""Fields of the pod, and resources of its containers, that variables and files show: the downward API."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, not_supported, required
from pilotage.meta.documents import Document
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.validation.names import qualified_name
from pilotage.server.strategies.checks import texts

FILE_FIELDS = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
"""What a file can show."""
VARIABLE_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
"""What a variable can show."""
_KNOWN = {*FILE_FIELDS, *VARIABLE_FIELDS, "spec.restartPolicy", "spec.schedulerName", "status.phase", "spec.host"}
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_BYTES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_DIVISORS = {
    "cpu": (("1m", "1"), "1m and 1", "cpu"),
    "memory": (_BYTES, ", ".join(_BYTES), "memory"),
    "ephemeral-storage": (_BYTES, ", ".join(_BYTES), "local ephemeral storage"),
    "hugepages": (_BYTES, ", ".join(_BYTES), "hugepages"),
}


def validate_field_reference(reference: Document, path: str, fields: Collection[str]) -> Iterator[Cause]:
    """A reference to one of these fields of the pod."""
    version, field = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    if not version:
        yield required(f"{path}.apiVersion")
        return
    if not field:
        yield required(f"{path}.fieldPath")
        return
    name, subscript = _split_subscript(field)
    if problem := _conversion_problem(version, field, name, subscript):
        yield invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {problem}")
    elif subscript is not None:
        key = subscript.lower() if name == "metadata.annotations" else subscript
        yield from texts.text(key, path, qualified_name)
    elif (name := "spec.nodeName" if name == "spec.host" else name) not in fields:
        yield not_supported(f"{path}.fieldPath", name, sorted(fields))


def validate_resource_reference(reference: Document, path: str, *, file: bool) -> Iterator[Cause]:
    """A reference to a limit or request of a container, which a file must name."""
    resource = reference.get("resource") or ""
    if file and not reference.get("containerName"):
        yield required(f"{path}.containerName")
    elif not resource:
        yield required(f"{path}.resource")
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        yield not_supported(f"{path}.resource", resource, _RESOURCES)
    divisor = Quantity(reference.get("divisor") or 0)
    name = resource.partition(".")[2] if resource in _RESOURCES else "hugepages"
    known = resource in _RESOURCES or resource.startswith(_HUGE_PAGES)
    if known and divisor and str(divisor) not in _DIVISORS[name][0]:
        _, values, unit = _DIVISORS[name]
        message = f"only divisor's values {values} are supported with the {unit} resource"
        yield invalid(f"{path}.divisor", resource, message)


def _split_subscript(field: str) -> tuple[str, str | None]:
    """The parts of `metadata.labels['key']`; without a subscript the second is None."""
    if field.endswith("']"):
        name, bracket, key = field[:-2].partition("['")
        if name and bracket:
            return name, key
    return field, None


def _conversion_problem(version: str, field: str, name: str, subscript: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscript is not None:
        keyed = name in ("metadata.annotations", "metadata.labels")
        return "" if keyed else f"field label does not support subscript: {field}"
    return "" if field in _KNOWN else f"field label not supported: {field}"
