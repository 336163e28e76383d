"""The functions of kwok that do not depend on a cluster, and those of sprig about defaults, types and encodings."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from typing import Any

from pilotage.errors import DecodeError
from pilotage.meta.text import gojson, yamltext
from pilotage.workloads.stages.templates.functions import function
from pilotage.workloads.stages.templates.govalues import (
    GoFloat,
    GoInt,
    go_type,
    is_number,
    number_text,
    printed,
)
from pilotage.workloads.stages.templates.limits import RenderError, check_length
from pilotage.workloads.stages.templates.literals import quoted

_CONDITIONS = (
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
)
"""Type, status, reason and message of the conditions of a healthy node."""


def plain(value: Any) -> Any:
    """A value without the types of Go: for JSON and YAML, numbers as they are printed in them."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            raise RenderError(f"unsupported value: {printed(value)}")
        return int(value) if value.is_integer() and abs(value) < 1e21 else float(value)
    return int(value) if isinstance(value, GoInt) else value


def as_json(value: Any) -> str:
    """A value as Go's encoder writes it: keys sorted, and the signs of HTML escaped."""
    text = json.dumps(plain(value), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _quoted(value: Any) -> str:
    """kwok's Quote: a string as JSON; the JSON of any other value, as a string."""
    text = as_json(value)
    return text if text[0] == '"' else quoted(text)


def _yaml(value: Any, *levels: GoInt) -> str:
    """kwok's YAML: with one level, each line is indented by two spaces for each."""
    text = yamltext.write_as_kubernetes(plain(value)).decode()
    if len(levels) != 1 or levels[0] <= 0:
        return text
    check_length((text.count("\n") + 1) * levels[0] * 2)
    return f"\n{text}".replace("\n", "\n" + " " * (2 * levels[0]))


def _conditions() -> list[dict[str, Any]]:
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": None,
            "lastTransitionTime": None,
        }
        for kind, status, reason, message in _CONDITIONS
    ]


def is_empty(value: Any) -> bool:
    """sprig's empty: nil, false, 0, and what has no length. A number of the document is a text, which is not empty."""
    return not value and not is_number(value)


def _default(fallback: Any, *given: Any) -> Any:
    return fallback if not given or is_empty(given[0]) else given[0]


def _coalesce(*values: Any) -> Any:
    return next((value for value in values if not is_empty(value)), None)


def _from_json(text: str) -> Any:
    """nil if it is not JSON."""
    try:
        return _floats(gojson.read(text.encode()))
    except DecodeError:
        return None


def _floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_floats(item) for item in value]
    return GoFloat(value) if is_number(value) else value


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode(errors="replace")
    except ValueError as error:
        return str(error)


def _kind(value: Any) -> str:
    if value is None:
        return "invalid"
    kinds = {"json.Number": "string", "[]interface {}": "slice", "map[string]interface {}": "map"}
    return kinds.get(go_type(value), go_type(value))


def _type(value: Any) -> str:
    return "<nil>" if value is None else go_type(value)


def _fail(message: str) -> Any:
    raise RenderError(message)


def to_string(value: Any) -> str:
    """sprig's toString."""
    return number_text(value) if is_number(value) else printed(value)


GENERAL = {
    "Quote": function("any", _quoted),
    "YAML": function("any ...int", _yaml),
    "NodeConditions": function("", _conditions),
    "default": function("any ...any", _default),
    "empty": function("any", is_empty),
    "coalesce": function("...any", _coalesce),
    "ternary": function("any any bool", lambda yes, no, condition: yes if condition else no),
    "fail": function("string", _fail),
    "all": function("...any", lambda *values: not any(map(is_empty, values))),
    "any": function("...any", lambda *values: not all(map(is_empty, values))),
    "toJson": function("any", as_json),
    "fromJson": function("string", _from_json),
    "b64enc": function("string", lambda text: base64.b64encode(text.encode()).decode()),
    "b64dec": function("string", _decoded),
    "sha256sum": function("string", lambda text: hashlib.sha256(text.encode()).hexdigest()),
    "kindOf": function("any", _kind),
    "kindIs": function("string any", lambda kind, value: kind == _kind(value)),
    "typeOf": function("any", _type),
    "typeIs": function("string any", lambda kind, value: kind == _type(value)),
    "toString": function("any", to_string),
}
"""By name."""
