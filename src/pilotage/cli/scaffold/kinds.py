"""The kind that a controller or a webhook is for: one of the project, or one of Kubernetes."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from pilotage.cli.scaffold.layout import ClassField, Layout, ProjectKind
from pilotage.cli.scaffold.names import Names, check_kind
from pilotage.kit.console.errors import CommandError
from pilotage.meta.kinds import GroupVersionKind

_EXAMPLES = {"str": '"example"', "int": "1", "bool": "True", "float": "1.0"}
_EMPTY = {"list": "[]", "dict": "{}", "tuple": "()", "set": "set()"}


@dataclass(frozen=True, slots=True)
class Subject:
    """A kind with all that templates need to know of it."""

    class_name: str
    module: str
    """The module of its class."""
    namespaced: bool
    own: ProjectKind | None
    """None for a kind of Kubernetes."""

    @property
    def names(self) -> Names:
        return Names(self.own.kind if self.own else self.class_name)

    @property
    def status_class(self) -> str | None:
        """The class of the status, if that has conditions and the status may be absent."""
        if self.own is None:
            return None
        name = f"{self.class_name}Status"
        status = [field for field in self.own.fields_of(self.class_name) or [] if field.name == "status"]
        if not status or ast.unparse(status[0].annotation) != f"{name} | None":
            return None
        fields = self.own.fields_of(name) or []
        conditions = [ast.unparse(field.annotation) for field in fields if field.name == "conditions"]
        known = conditions and re.fullmatch(r"list\[(\w+\.)?Condition\]", conditions[0])
        return name if known and not any(field.required for field in fields) else None

    @property
    def example(self) -> ExampleObject | None:
        """How a test creates an object; None if the values of its required fields cannot be guessed."""
        if self.own is None:
            return None
        fields = self.own.fields_of(self.class_name)
        return _example(fields, self.own) if fields is not None else None


@dataclass(frozen=True, slots=True)
class ExampleObject:
    """The keyword arguments of an object, and the classes in them."""

    arguments: tuple[str, ...]
    classes: tuple[str, ...]


def find_subject(layout: Layout, words: list[str], version: str = "", group: str = "") -> Subject:
    """The kind that the words name: `Guestbook`, `apps/v1 Deployment` or `apps/v1/Deployment`. Raises CommandError."""
    text = "/".join(words)
    api_version, _, kind = text.rpartition("/")
    check_kind(kind)
    if api_version:
        group, _, version = api_version.rpartition("/")
    own = [each for each in layout.versions_of(kind, group) if version in ("", each.version)]
    if own:
        chosen = next((each for each in own if each.storage), own[0])
        return Subject(chosen.class_name, chosen.module, chosen.namespaced, chosen)
    builtin = _builtin(kind, group if group or not api_version else None, version)
    if builtin is not None:
        return builtin
    known = ", ".join(dict.fromkeys(each.kind for each in layout.kinds)) or "it has none"
    raise CommandError(
        f"{text!r} is neither a kind of this project ({known}) nor one of Kubernetes; add it with "
        f"`pilotage create api {kind}`"
    )


def new_subject(layout: Layout, text: str, path: str, kind: str) -> Subject:
    """A kind in the text of a module that may not be written yet."""
    found = next(each for each in layout.kinds_in(text, path) if each.kind == kind)
    return Subject(found.class_name, found.module, found.namespaced, found)


def is_builtin(kind: str) -> bool:
    """Whether Kubernetes has a kind of this name, in any group."""
    from pilotage.types import builtin

    return any(mapping.gvk.kind == kind for mapping in builtin.resources())


def _builtin(kind: str, group: str | None, version: str) -> Subject | None:
    """A kind of Kubernetes. An empty group matches all groups; None is the core group."""
    from pilotage.types import builtin

    found = [mapping for mapping in builtin.resources() if mapping.gvk.kind == kind]
    found = [each for each in found if group == "" or each.gvk.group == (group or "")]
    found = [each for each in found if version in ("", each.gvk.version)]
    if len({each.gvk.group for each in found}) > 1 or (len(found) > 1 and version):
        choices = " or ".join(f"{each.gvk.api_version}/{kind}" for each in found)
        raise CommandError(f"Kubernetes has several kinds {kind}: give {choices}")
    if not found:
        return None
    first = found[0]  # discovery lists the preferred version first
    cls = builtin.type_for(GroupVersionKind(first.gvk.group, first.gvk.version, kind))
    return Subject(kind, cls.__module__, first.namespaced, None) if cls is not None else None


def _example(fields: list[ClassField], own: ProjectKind) -> ExampleObject | None:
    arguments, classes = [], []
    for field in fields:
        if field.required:
            value = _value(field.annotation, own)
            if value is None:
                return None
            arguments.append(f"{field.name}={value[0]}")
            classes += value[1]
    return ExampleObject(tuple(arguments), tuple(classes))


def _value(annotation: ast.expr, own: ProjectKind) -> tuple[str, list[str]] | None:
    """A value of a type, and the classes in it; None if it cannot be guessed."""
    text = ast.unparse(annotation)
    if text in _EXAMPLES:
        return _EXAMPLES[text], []
    if isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in _EMPTY:
        return _EMPTY[ast.unparse(annotation.value)], []
    if isinstance(annotation, ast.Name) and (fields := own.fields_of(annotation.id)) is not None:
        inner = _example(fields, own)
        if inner is not None:
            return f"{annotation.id}({', '.join(inner.arguments)})", [annotation.id, *inner.classes]
    return None
