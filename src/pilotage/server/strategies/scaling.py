"""The scale of an object: the desired and current number of replicas and their selector, at the paths of its kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, shown
from pilotage.meta.documents import Document, copied
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.paths import value_at
from pilotage.meta.selectors.selectors import Selector
from pilotage.meta.text.gotext import go_type

SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_MAX_REPLICAS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ScalePaths:
    """The paths of the scale in an object."""

    replicas: tuple[str, ...]
    """The desired number of replicas."""
    current: tuple[str, ...]
    """The current number of replicas."""
    selector: tuple[str, ...] = ()
    form: Literal["text", "labels", "selector"] = "text"
    """The form of the selector: a string, a map of labels, or a label selector."""

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
    if selector := _selector_text(value_at(document, paths.selector), paths.form):
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
    """Whether an object sets the desired number of replicas."""
    return value_at(document, paths.replicas) is not None


def scaled(document: Document, paths: ScalePaths, replicas: int) -> Document:
    """A copy of an object with this desired number of replicas."""
    result: Document = copied(document)
    parent = result
    for step in paths.replicas[:-1]:
        below = parent.get(step)
        parent[step] = parent = below if isinstance(below, dict) else {}
    parent[paths.replicas[-1]] = replicas
    return result


def validate_scale(document: Document, paths: ScalePaths, *, status: bool) -> Iterator[Cause]:
    """What is wrong with the scale of a custom resource: with `status`, only its part in the status."""
    if not status:
        yield from _validate_count(document, paths.replicas)
    yield from _validate_count(document, paths.current)
    selector = value_at(document, paths.selector)
    if paths.selector and selector is not None and not isinstance(selector, str):
        yield invalid(_shown(paths.selector), "", f"{_shown(paths.selector)} accessor error: it is not a string")


def _validate_count(document: Document, path: tuple[str, ...]) -> Iterator[Cause]:
    value, parent = value_at(document, path), value_at(document, path[:-1])
    if parent is not None and not isinstance(parent, dict):
        yield invalid(_shown(path), 0, f"{_shown(path)} accessor error: {_shown(path[:-1])} is not an object")
        return
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        yield invalid(_shown(path), 0, f"{_shown(path)} accessor error: {_typed(value)}, expected int64")
    elif value < 0:
        yield invalid(_shown(path), value, "should be a non-negative integer")
    elif value > _MAX_REPLICAS:
        yield invalid(_shown(path), value, f"should be less than or equal to {_MAX_REPLICAS}")


def _typed(value: Any) -> str:
    """A value of a wrong type as Go prints it; objects and lists without what is in them."""
    text = value if isinstance(value, str) else shown(value)
    return f"{text} is of the type {go_type(value)}".lstrip()


def _path(text: str) -> tuple[str, ...]:
    return tuple(text.removeprefix(".").split("."))


def _shown(path: Sequence[str]) -> str:
    return f".{'.'.join(path)}"


def shown_replicas_path(paths: ScalePaths) -> str:
    """The path of the desired replicas in the form of a definition."""
    return _shown(paths.replicas)


def _number(document: Document, path: Sequence[str]) -> int:
    value = value_at(document, path)
    # As in Go, of a number that does not fit into 32 bits the rest is lost.
    return (value + 2**31) % 2**32 - 2**31 if isinstance(value, int) else 0


def _selector_text(selector: Any, form: str) -> str:
    if form == "text":
        return selector if isinstance(selector, str) else ""
    if not selector:
        return ""
    return str(Selector.from_labels(selector) if form == "labels" else Selector.from_label_selector(selector))
