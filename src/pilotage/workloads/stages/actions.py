"""The actions of a Stage file: templates of patches and objects, rendered for an object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pilotage.errors import InvalidDefinition
from pilotage.meta.values import Value
from pilotage.workloads.stages import definitions
from pilotage.workloads.stages.finalizers import FinalizersChange
from pilotage.workloads.stages.moment import function_names
from pilotage.workloads.stages.stage import (
    NODE,
    POD,
    Action,
    Apply,
    ApplyType,
    Delete,
    Event,
    Patch,
    PatchType,
    ResourceRef,
)
from pilotage.workloads.stages.templates.problems import RenderError, TemplateProblem
from pilotage.workloads.stages.templates.template import Template

Functions = Mapping[str, Callable[..., Any]]
"""The functions of a moment, by name."""
_STRATEGIC = frozenset([NODE, POD])
"""Kinds for which kwok patches strategically, if a patch has no type."""


class PatchTemplate(Value, frozen=True):
    """A patch of the object."""

    template: Template
    type: PatchType
    root: str
    subresource: str
    place: str
    """The field of the Stage, for messages."""

    def rendered(self, document: Any, functions: Functions) -> Patch:
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

    def rendered(self, document: Any, functions: Functions) -> Apply:
        """The object. Raises RenderError."""
        found = self.template.document(document, functions)
        if not isinstance(found, dict) or not found.get("apiVersion") or not found.get("kind"):
            raise RenderError("the object must have apiVersion and kind")
        return Apply(self.type, found, self.subresource)


Definition = Event | FinalizersChange | Delete | PatchTemplate | ApplyTemplate
"""An action as a Stage file defines it."""


def performed(definition: Definition, document: dict[str, Any], functions: Functions) -> Action | None:
    """The action for an object; None if nothing has to change. Raises RenderError."""
    if isinstance(definition, PatchTemplate | ApplyTemplate):
        return definition.rendered(document, functions)
    if isinstance(definition, FinalizersChange):
        metadata = document.get("metadata") or {}
        operations = definition.operations(metadata.get("finalizers") or [])
        return Patch("json", operations) if operations else None
    return definition


class Builder(Value, frozen=True):
    """Makes the actions of one Stage. Its methods raise InvalidDefinition."""

    resource: ResourceRef

    def of_steps(self, steps: list[definitions.Step]) -> list[Definition]:
        """The actions of `steps`, in the order of kwok: in one step Event, finalizers, deletion, patch, object."""
        found: list[Definition] = []
        for index, step in enumerate(steps):
            path = f"spec.steps[{index}]"
            found += _first(step.event, step.finalizers)
            patches = [] if step.patch is None else [self._patch(step.patch, f"{path}.patch")]
            applied = [] if step.apply is None else [self._applied(step.apply, f"{path}.apply")]
            found += [Delete()] if step.delete else [*patches, *applied]  # nothing else is done beside a deletion
        return found

    def of_next(self, given: definitions.Next) -> list[Definition]:
        """The actions of `next`, the older form of `steps`."""
        patches = [self._patch(each, f"spec.next.patches[{index}]") for index, each in enumerate(given.patches)]
        if given.status_template is not None and not patches:
            place = "spec.next.statusTemplate"
            template = self._template(given.status_template, place)
            patches = [PatchTemplate(template, self._usual_type, "status", given.status_subresource, place)]
        return [*_first(given.event, given.finalizers), *patches, *([Delete()] if given.delete else [])]

    @property
    def _usual_type(self) -> PatchType:
        return "strategic" if self.resource in _STRATEGIC else "merge"

    def _patch(self, given: definitions.Patch, path: str) -> PatchTemplate:
        place = f"{path}.template"
        template = self._template(given.template, place)
        return PatchTemplate(template, given.type or self._usual_type, given.root, given.subresource, place)

    def _applied(self, given: definitions.Apply, path: str) -> ApplyTemplate:
        place = f"{path}.template"
        return ApplyTemplate(self._template(given.template, place), given.type, given.subresource, place)

    def _template(self, text: str, place: str) -> Template:
        try:
            return Template(text, function_names(*self.resource))
        except TemplateProblem as problem:
            raise InvalidDefinition(f"{place}: {problem} (line {problem.line})") from None


def _first(event: definitions.Event | None, finalizers: definitions.Finalizers | None) -> list[Definition]:
    found: list[Definition] = []
    if event is not None:
        found.append(Event(event.type, event.reason, event.message))
    if finalizers is not None:
        add, remove = (tuple(each.value for each in values) for values in (finalizers.add, finalizers.remove))
        found.append(FinalizersChange(add, remove, finalizers.empty))
    return found
