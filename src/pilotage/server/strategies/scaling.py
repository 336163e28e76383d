"""The scale of an object: how many replicas it wants and has, and which pods they are, wherever it keeps that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.documents import Document, copied
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.selectors.selectors import Selector

SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_MAX_REPLICAS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """Where an object has its scale, as paths of field names."""

    replicas: tuple[str, ...]
    """How many replicas it wants."""
    current: tuple[str, ...]
    """How many it has."""
    selector: tuple[str, ...] = ()
    form: Literal["text", "labels", "selector"] = "text"
    """What the selector is there: a text, a map of labels, or a label selector."""

    @classmethod
    def of_definition(cls, scale: Document) -> ScalePaths:
        """Those of a custom resource, from its definition."""
        return cls(
            _path(scale["specReplicasPath"]),
            _path(scale["statusReplicasPath"]),
            _path(scale["labelSelectorPath"]) if scale.get("labelSelectorPath") else (),
        )


REPLICAS = ScalePaths(("spec", "replicas"), ("status", "replicas"), ("spec", "selector"), "selector")
"""The scale of the built-in kinds that have one."""
REPLICAS_BY_LABELS = ScalePaths(("spec", "replicas"), ("status", "replicas"), ("spec", "selector"), "labels")


def scale_of(document: Document, paths: ScalePaths) -> Document:
    """The Scale of an object."""
    metadata = {key: document["metadata"][key] for key in _METADATA if key in document["metadata"]}
    status: Document = {"replicas": _number(document, paths.current)}
    if selector := _selector_text(_value(document, paths.selector), paths.form):
        status["selector"] = selector
    replicas = _number(document, paths.replicas)
    return {
        "kind": SCALE.kind,
        "apiVersion": SCALE.api_version,
        "metadata": metadata,
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def has_replicas(document: Document, paths: ScalePaths) -> bool:
    """Whether an object says how many replicas it wants."""
    return _value(document, paths.replicas) is not None


def scaled(document: Document, paths: ScalePaths, replicas: int) -> Document:
    """An object that wants so many replicas; a copy."""
    result: Document = copied(document)
    parent = result
    for step in paths.replicas[:-1]:
        below = parent.get(step)
        parent[step] = parent = below if isinstance(below, dict) else {}
    parent[paths.replicas[-1]] = replicas
    return result


def validate_scale(document: Document, paths: ScalePaths, *, status: bool) -> Iterator[Cause]:
    """What is wrong with the scale of a custom resource: with `status`, only with what its status has of it."""
    if not status:
        yield from _validate_count(document, paths.replicas)
    yield from _validate_count(document, paths.current)
    selector = _value(document, paths.selector)
    if paths.selector and selector is not None and not isinstance(selector, str):
        yield invalid(_shown(paths.selector), "", f"{_shown(paths.selector)} accessor error: it is no string")


def _validate_count(document: Document, path: tuple[str, ...]) -> Iterator[Cause]:
    value, parent = _value(document, path), _value(document, path[:-1])
    if parent is not None and not isinstance(parent, dict):
        yield invalid(_shown(path), 0, f"{_shown(path)} accessor error: {_shown(path[:-1])} is no object")
        return
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        yield invalid(_shown(path), 0, f"{_shown(path)} accessor error: it is no integer")
    elif value < 0:
        yield invalid(_shown(path), value, "should be a non-negative integer")
    elif value > _MAX_REPLICAS:
        yield invalid(_shown(path), value, f"should be less than or equal to {_MAX_REPLICAS}")


def _path(text: str) -> tuple[str, ...]:
    return tuple(text.removeprefix(".").split("."))


def _shown(path: Sequence[str]) -> str:
    return f".{'.'.join(path)}"


def shown_replicas_path(paths: ScalePaths) -> str:
    """The path of the wanted replicas as a definition writes it."""
    return _shown(paths.replicas)


def _value(document: Document, path: Sequence[str]) -> Any:
    value: Any = document if path else None
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _number(document: Document, path: Sequence[str]) -> int:
    value = _value(document, path)
    # As in Go, of a number that does not fit into 32 bits the rest is lost.
    return (value + 2**31) % 2**32 - 2**31 if isinstance(value, int) else 0


def _selector_text(selector: Any, form: str) -> str:
    if form == "text":
        return selector if isinstance(selector, str) else ""
    if not selector:
        return ""
    return str(Selector.from_labels(selector) if form == "labels" else Selector.from_label_selector(selector))
