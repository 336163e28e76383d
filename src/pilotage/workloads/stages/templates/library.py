"""The functions of kwok that do not depend on a cluster, and some of sprig. None changes its arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pilotage.meta.causes import quoted
from pilotage.meta.text import yamltext
from pilotage.workloads.stages.templates.problems import RenderError
from pilotage.workloads.stages.templates.values import GoFloat, GoInt, as_json, go_type, is_true, plain, printed

_INTEGER = re.compile(r"([+-]?)(?:0([0-7]{1,20})|(0x[0-9a-fA-F]{1,15}|0|[1-9][0-9]{0,17}))(?:\.0*)?")
"""As Go reads it: octal after a zero."""
_CONDITIONS = (
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
)
"""Type, status, reason and message of the conditions of a healthy node."""


def _quote(value: Any) -> str:
    """kwok's Quote: a string as JSON; the JSON of any other value, as a string."""
    text = as_json(value)
    return text if isinstance(value, str) else quoted(text)


def _yaml(value: Any, *levels: GoInt) -> str:
    """kwok's YAML: with one level, each line is indented by two spaces for each."""
    text = yamltext.write_as_kubernetes(plain(value)).decode()
    if len(levels) != 1 or levels[0] <= 0:
        return text
    return f"\n{text}".replace("\n", "\n" + " " * (2 * levels[0]))


def _conditions() -> list[dict[str, Any]]:
    times = {"lastHeartbeatTime": None, "lastTransitionTime": None}
    return [
        {"type": kind, "status": status, "reason": reason, "message": message} | times
        for kind, status, reason, message in _CONDITIONS
    ]


def _default(fallback: Any, value: Any = None) -> Any:
    return value if is_true(value) else fallback


def _dict(*values: Any) -> dict[str, Any]:
    pairs = [*values, ""] if len(values) % 2 else values
    return {printed(key): value for key, value in zip(pairs[::2], pairs[1::2], strict=True)}


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise RenderError(f"expected a list; got {go_type(value)}")
    return value


def _int(value: Any) -> GoInt:
    """Any value as an integer; 0 if it is not a number."""
    if isinstance(value, bool | GoInt | GoFloat):
        number = int(value)
    else:
        match = _INTEGER.fullmatch(printed(value))
        number = int(match[1] + (f"0o{match[2]}" if match[2] else match[3]), 0) if match else 0
    return _int64(number)


def _int64(number: int) -> GoInt:
    """Beyond the range of int64 Go wraps around."""
    return GoInt((number + 2**63) % 2**64 - 2**63)


def _joined(separator: str, value: Any) -> str:
    return separator.join(printed(item) for item in (value if isinstance(value, list) else [value]) if item is not None)


def _split(separator: str, text: str) -> list[str]:
    return text.split(separator) if separator else list(text)


LIBRARY: dict[str, Callable[..., Any]] = {
    "Quote": _quote,
    "YAML": _yaml,
    "NodeConditions": _conditions,
    "default": _default,
    "ternary": lambda yes, no, condition: yes if condition else no,
    "quote": lambda *values: " ".join(quoted(printed(each)) for each in values if each is not None),
    "toString": printed,
    "upper": str.upper,
    "lower": str.lower,
    "trim": str.strip,
    "trimPrefix": lambda prefix, text: text.removeprefix(prefix),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "contains": lambda part, text: part in text,
    "hasPrefix": lambda prefix, text: text.startswith(prefix),
    "hasSuffix": lambda suffix, text: text.endswith(suffix),
    "replace": lambda old, new, text: text.replace(old, new),
    "split": lambda by, text: {f"_{at}": part for at, part in enumerate(_split(by, text))},
    "splitList": _split,
    "join": _joined,
    "int": _int,
    "add": lambda *values: _int64(sum(map(_int, values))),
    "sub": lambda one, other: _int64(_int(one) - _int(other)),
    "list": lambda *values: list(values),
    "dict": _dict,
    "first": lambda value: next(iter(_items(value)), None),
    "last": lambda value: next(iter(_items(value)[-1:]), None),
}
"""By name."""
