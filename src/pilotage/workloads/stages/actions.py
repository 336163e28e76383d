"""The actions of a Stage file: templates of patches and objects, rendered for an object."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pilotage.meta.values import Value
from pilotage.workloads.stages.fields import Fields, Text
from pilotage.workloads.stages.stage import NODE, POD, Action, Apply, ApplyType, Delete, Event, Patch, ResourceRef
from pilotage.workloads.stages.templates.problems import RenderError
from pilotage.workloads.stages.templates.template import Template

Functions = Mapping[str, Callable[..., Any]]
"""The functions of a moment, by name."""
Operations = list[dict[str, Any]]
_STRATEGIC = frozenset([NODE, POD])
"""Kinds for which kwok patches strategically, if a patch has no type."""
_PATH = "/metadata/finalizers"
_EMPTY = Template("", ())


class EventFields(Fields):
    """An Event about the object."""

    type: str = ""
    reason: str = ""
    message: str = ""


class Finalizer(Fields):
    """One finalizer."""

    value: Text


class Finalizers(Fields):
    """Finalizers that are added and removed. `empty` removes all that the object has."""

    add: list[Finalizer] = []
    remove: list[Finalizer] = []
    empty: bool = False

    def operations(self, current: Sequence[str]) -> Operations:
        """The JSON patch for an object with these finalizers; without operations, nothing changes."""
        unwanted = {each.value for each in self.remove}
        removed = [index for index, finalizer in enumerate(current) if finalizer in unwanted]
        if not self.empty and not (unwanted and len(removed) == len(current)):
            found: Operations = [{"op": "remove", "path": f"{_PATH}/{index}"} for index in reversed(removed)]
            return found + self._additions(current)
        cleared: Operations = [{"op": "remove", "path": _PATH}] if current else []
        return cleared + self._additions(())

    def _additions(self, current: Sequence[str]) -> Operations:
        added = [each.value for each in self.add]
        if added and not current:
            return [{"op": "add", "path": _PATH, "value": added}]
        new = [finalizer for finalizer in added if finalizer not in current]
        return [{"op": "add", "path": f"{_PATH}/-", "value": finalizer} for finalizer in new]


class PatchFields(Fields):
    """A patch of the object."""

    subresource: str = ""
    root: str = ""
    template: Template = _EMPTY
    type: Literal["json", "merge", "strategic", ""] = ""

    def rendered(self, document: Any, functions: Functions, resource: ResourceRef) -> Patch:
        """The patch for an object. Raises RenderError."""
        found = self.template.document(document, functions)
        kind = self.type or ("strategic" if resource in _STRATEGIC else "merge")
        if kind == "json":
            found = self._operations(found)
        elif self.root:
            found = {self.root: found}
        return Patch(kind, found, self.subresource)

    def _operations(self, found: Any) -> Operations:
        if not isinstance(found, list) or not all(isinstance(each, dict) and "path" in each for each in found):
            raise RenderError("a JSON patch must be a list of operations with paths")
        return [{**each, "path": f"/{self.root}{each['path']}"} for each in found] if self.root else found


class ApplyFields(Fields):
    """Another object that is created or changed."""

    subresource: str = ""
    template: Template = _EMPTY
    type: ApplyType = "apply"

    def rendered(self, document: Any, functions: Functions, resource: ResourceRef) -> Apply:
        """The object. Raises RenderError."""
        found = self.template.document(document, functions)
        if not isinstance(found, dict) or not found.get("apiVersion") or not found.get("kind"):
            raise RenderError("the object must have apiVersion and kind")
        return Apply(self.type, found, self.subresource)


class Definition(Value, frozen=True):
    """An action as a Stage file defines it, with its field for messages."""

    place: str
    fields: EventFields | Finalizers | PatchFields | ApplyFields | Delete

    def performed(self, document: dict[str, Any], functions: Functions, resource: ResourceRef) -> Action | None:
        """The action for an object; None if nothing has to change. Raises RenderError."""
        fields = self.fields
        if isinstance(fields, PatchFields | ApplyFields):
            return fields.rendered(document, functions, resource)
        if isinstance(fields, Finalizers):
            operations = fields.operations((document.get("metadata") or {}).get("finalizers") or [])
            return Patch("json", operations) if operations else None
        return Event(fields.type, fields.reason, fields.message) if isinstance(fields, EventFields) else fields


class StepFields(Fields):
    """One of `steps`: Event, finalizers, deletion, patch and object, in the order of kwok."""

    event: EventFields | None = None
    finalizers: Finalizers | None = None
    delete: bool = False
    patch: PatchFields | None = None
    apply: ApplyFields | None = None

    def definitions(self, path: str) -> list[Definition]:
        """The actions. Nothing else is done beside a deletion."""
        others = (Delete(),) if self.delete else (self.patch, self.apply)
        found = (self.event, self.finalizers, *others)
        places: dict[type, str] = {PatchFields: f"{path}.patch.template", ApplyFields: f"{path}.apply.template"}
        return [Definition(places.get(type(each), path), each) for each in found if each is not None]


class NextFields(Fields):
    """The older form of `steps`."""

    event: EventFields | None = None
    finalizers: Finalizers | None = None
    delete: bool = False
    patches: list[PatchFields] = []
    status_template: Template | None = None
    status_subresource: str = "status"

    def definitions(self) -> list[Definition]:
        """The actions. The template of the status is used if there are no patches."""
        path = "spec.next"
        found = StepFields(self.event, self.finalizers).definitions(path)
        patches = [Definition(f"{path}.patches[{at}].template", each) for at, each in enumerate(self.patches)]
        if self.status_template is not None and not patches:
            status = PatchFields(self.status_subresource, "status", self.status_template)
            patches = [Definition(f"{path}.statusTemplate", status)]
        return [*found, *patches, *([Definition(path, Delete())] if self.delete else [])]
