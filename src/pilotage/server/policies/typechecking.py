"""The warnings of type checking in the status of a ValidatingAdmissionPolicy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from pilotage.errors import NotFound
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.schema.cel.admission.typecheck import TypeChecker, declared_kind
from pilotage.schema.cel.declared import DeclaredValue
from pilotage.server.catalogue.catalogue import Catalogue
from pilotage.server.resources import ResourceInfo
from pilotage.types import builtin

MAX_KINDS = 10
"""Kinds that the expressions of one rule are checked for."""
_METADATA = {"$ref": f"{builtin.REFERENCE}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
_HEAD = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}, "metadata": _METADATA}


async def kinds_of(spec: Document, catalogue: Catalogue) -> list[ResourceInfo]:
    """The resources that a policy is for, in the order of their kinds. Rules with wildcards are left out."""
    found: dict[GroupVersionKind, ResourceInfo] = {}
    for rule in (spec.get("matchConstraints") or {}).get("resourceRules") or ():
        count = 0
        for resource in _resources(rule):
            if count == MAX_KINDS:
                break
            with suppress(NotFound):
                info = await catalogue.find(resource)
                found[info.gvk] = info
                count += 1
    return [found[kind] for kind in sorted(found)]


def expression_warnings(spec: Document, kinds: list[ResourceInfo], params: ResourceInfo | None) -> list[Document]:
    """What type checking finds in the validations of a policy."""
    declared_params = declared(params, "params") if params is not None else None
    checkers: list[tuple[GroupVersionKind, TypeChecker]] = []
    for info in kinds:
        has_params = spec.get("paramKind") is not None
        checker = TypeChecker(declared(info, "object"), declared_params, has_params=has_params)
        for variable in spec.get("variables") or ():
            checker.add_variable(variable["name"], variable["expression"])
        checkers.append((info.gvk, checker))
    warnings: list[Document] = []
    for place, text in _expressions(spec):
        found = [(kind, checker.problem(text)) for kind, checker in checkers]
        shown = [f"{kind.group}/{kind.version}, Kind={kind.kind}: {problem}\n" for kind, problem in found if problem]
        if shown:
            warnings.append({"fieldRef": place, "warning": "\n".join(shown)})
    return warnings


def declared(info: ResourceInfo, name: str) -> DeclaredValue:
    """The objects of a resource as expressions see them."""
    if not info.custom:
        return declared_kind(builtin.schema(info.gvk), builtin.definition, name)
    schema = info.openapi or {}
    whole = {**schema, "properties": {**(schema.get("properties") or {}), **_HEAD}}
    return declared_kind(whole, builtin.definition, name)


def _expressions(spec: Document) -> Iterator[tuple[str, str]]:
    for index, validation in enumerate(spec.get("validations") or ()):
        for field in ("expression", "messageExpression"):
            if text := validation.get(field):
                yield f"spec.validations[{index}].{field}", text


def _resources(rule: Document) -> Iterator[GroupVersionResource]:
    groups, versions = rule.get("apiGroups") or (), rule.get("apiVersions") or ()
    if any("*" in text for text in (*groups, *versions)):
        return
    for group in sorted(groups):
        for version in sorted(versions):
            for resource in sorted(rule.get("resources") or ()):
                if "*" not in resource and "/" not in resource:
                    yield GroupVersionResource(group, version, resource)
