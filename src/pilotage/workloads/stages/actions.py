"""The actions of a Stage file: templates of patches and objects, rendered for an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pilotage.meta.values import Value
from pilotage.workloads.stages.fields import Fields
from pilotage.workloads.stages.finalizers import FinalizersChange
from pilotage.workloads.stages.moment import function_names
from pilotage.workloads.stages.stage import Action, Apply, ApplyType, Delete, Event, Patch, PatchType, ResourceRef
from pilotage.workloads.stages.templates.functions import Function
from pilotage.workloads.stages.templates.limits import RenderError, TemplateProblem
from pilotage.workloads.stages.templates.template import Template

_STRATEGIC = frozenset([ResourceRef("v1", "Node"), ResourceRef("v1", "Pod")])
"""Kinds for which kwok patches strategically, if a patch has no type."""


class PatchTemplate(Value, frozen=True):
    """A patch of the object."""

    template: Template
    type: PatchType
    root: str
    subresource: str
    place: str
    """The field of the Stage, for messages."""

    def rendered(self, document: Any, functions: Mapping[str, Function]) -> Patch:
        """The patch for an object. Raises RenderError."""
        found = self.template.document(document, functions)
        if self.type == "json":
            found = self._operations(found)
        elif self.root:
            found = {self.root: found}
        return Patch(self.type, found, self.subresource)

    def _operations(self, found: Any) -> list[dict[str, Any]]:
        if not isinstance(found, list) or not all(isinstance(each, dict) and "path" in each for each in found):
            raise RenderError("a JSON patch must be a list of operations with paths")
        if not self.root:
            return found
        return [{**each, "path": f"/{self.root}{each['path']}"} for each in found]


class ApplyTemplate(Value, frozen=True):
    """Another object that is created or changed."""

    template: Template
    type: ApplyType
    subresource: str
    place: str
    """The field of the Stage, for messages."""

    def rendered(self, document: Any, functions: Mapping[str, Function]) -> Apply:
        """The object. Raises RenderError."""
        found = self.template.document(document, functions)
        if not isinstance(found, dict) or not found.get("apiVersion") or not found.get("kind"):
            raise RenderError("the object must have apiVersion and kind")
        return Apply(self.type, found, self.subresource)


Definition = Event | FinalizersChange | Delete | PatchTemplate | ApplyTemplate
"""An action as a Stage file defines it."""


def performed(definition: Definition, document: dict[str, Any], functions: Mapping[str, Function]) -> Action | None:
    """The action for an object; None if nothing has to change. Raises RenderError."""
    if isinstance(definition, PatchTemplate | ApplyTemplate):
        return definition.rendered(document, functions)
    if isinstance(definition, FinalizersChange):
        metadata = document.get("metadata") or {}
        operations = definition.operations(metadata.get("finalizers") or [])
        return Patch("json", operations) if operations else None
    return definition


def of_steps(steps: list[Fields], resource: ResourceRef) -> list[Definition]:
    """The actions of `steps`, in the order of kwok: in one step Event, finalizers, deletion, patch, object."""
    found: list[Definition] = []
    for step in steps:
        event, finalizers, patch = step.object("event"), step.object("finalizers"), step.object("patch")
        deletes, applied = step.boolean("delete"), step.object("apply")
        step.end()
        found += [_event(event)] if event else []
        found += [_finalizers(finalizers)] if finalizers else []
        others: list[Definition] = []
        if patch:
            others.append(_patch(patch, resource))
        if applied:
            others.append(_applied(applied, resource))
        found += [Delete()] if deletes else others  # what a step has beside a deletion is checked, and not done
    return found


def of_next(fields: Fields, resource: ResourceRef) -> list[Definition]:
    """The actions of `next`, the older form of `steps`."""
    fields.refuse("statusPatchAs")
    event, finalizers = fields.object("event"), fields.object("finalizers")
    found: list[Definition] = [_event(event)] if event else []
    found += [_finalizers(finalizers)] if finalizers else []
    patches = [_patch(each, resource) for each in fields.objects("patches")]
    if fields.has("statusTemplate"):
        subresource = fields.text("statusSubresource", "status")
        place, template = fields.path("statusTemplate"), _template(fields, "statusTemplate", resource)
        patches = patches or [PatchTemplate(template, _usual_type(resource), "status", subresource, place)]
    fields.ignore("statusTemplate", "statusSubresource")
    found += patches
    found += [Delete()] if fields.boolean("delete") else []
    fields.end()
    return found


def _event(fields: Fields) -> Event:
    event = Event(fields.text("type"), fields.text("reason"), fields.text("message"))
    fields.end()
    return event


def _finalizers(fields: Fields) -> FinalizersChange:
    change = FinalizersChange(_values(fields, "add"), _values(fields, "remove"), fields.boolean("empty"))
    fields.end()
    return change


def _values(fields: Fields, name: str) -> tuple[str, ...]:
    found = []
    for each in fields.objects(name):
        found.append(each.required("value"))
        each.end()
    return tuple(found)


def _usual_type(resource: ResourceRef) -> PatchType:
    return "strategic" if resource in _STRATEGIC else "merge"


def _patch(fields: Fields, resource: ResourceRef) -> PatchTemplate:
    fields.refuse("impersonation")
    kind = cast(PatchType, fields.choice("type", ("json", "merge", "strategic"), _usual_type(resource)))
    place, template = fields.path("template"), _template(fields, "template", resource)
    found = PatchTemplate(template, kind, fields.text("root"), fields.text("subresource"), place)
    fields.end()
    return found


def _applied(fields: Fields, resource: ResourceRef) -> ApplyTemplate:
    fields.refuse("impersonation")
    kind = cast(ApplyType, fields.choice("type", ("apply", "merge", "strategic"), "apply"))
    place, template = fields.path("template"), _template(fields, "template", resource)
    found = ApplyTemplate(template, kind, fields.text("subresource"), place)
    fields.end()
    return found


def _template(fields: Fields, name: str, resource: ResourceRef) -> Template:
    try:
        return Template(fields.text(name), function_names(*resource))
    except TemplateProblem as problem:
        raise fields.problem(name, f"{problem} (line {problem.line})") from None
