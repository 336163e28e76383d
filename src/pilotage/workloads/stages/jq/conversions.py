"""The functions of jq about strings and numbers, and the checks of the types of values."""

from __future__ import annotations

import json
import math
from typing import Any

from pilotage.workloads.stages.jq.limits import DataError, bounded, check_length
from pilotage.workloads.stages.jq.operators import Whole, kind


def joined(value: Any, separator: Any) -> str:
    """`join`."""
    texts = []
    for item in array(value):
        if isinstance(item, list | dict):
            raise DataError(f"cannot join with {kind(item)}")
        texts.append("" if item is None else text_of(item))
    if not texts:
        return ""
    check_length(sum(map(len, texts)) + len(string(separator)) * len(texts))
    return string(separator).join(texts)


def tested(value: Any, pattern: Any) -> bool:
    """`test`, with a pattern of RE2."""
    import re2  # heavy, and few expressions have patterns

    options = re2.Options()
    options.log_errors = False
    try:
        return bool(re2.compile(string(pattern), options).search(string(value)))
    except re2.error:
        raise DataError("the regular expression is not valid") from None


def text_of(value: Any) -> str:
    """`tostring`: JSON, and strings as they are."""
    return value if isinstance(value, str) else json_text(value)


def json_text(value: Any) -> str:
    """`tojson`."""
    return bounded(json.dumps(_whole(value), ensure_ascii=False, separators=(",", ":"), sort_keys=True))


def _whole(value: Any) -> Any:
    """With floats that are whole numbers as integers, as Go writes them."""
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, float):
        if math.isnan(value):
            return None
        limited = max(min(value, 1.7976931348623157e308), -1.7976931348623157e308)
        return int(limited) if limited.is_integer() and abs(limited) < 1e21 else limited
    return value


def to_number(value: Any) -> Any:
    """`tonumber`."""
    if kind(value) == "number":
        return value
    text = string(value)
    try:
        return Whole(text) if text.isascii() and text.isdigit() and len(text) < 20 else float(_decimal(text))
    except ValueError:
        raise DataError("the string is not a number") from None


def _decimal(text: str) -> str:
    if len(text) > 100 or not set(text) <= set("0123456789+-.eE"):
        raise ValueError(text)
    return text


def lowered(value: Any) -> str:
    """`ascii_downcase`."""
    return "".join(chr(ord(each) + 32) if "A" <= each <= "Z" else each for each in string(value))


def raised(value: Any) -> str:
    """`ascii_upcase`."""
    return "".join(chr(ord(each) - 32) if "a" <= each <= "z" else each for each in string(value))


def without_prefix(value: Any, prefix: Any) -> Any:
    """`ltrimstr`."""
    return value.removeprefix(prefix) if isinstance(value, str) and isinstance(prefix, str) else value


def without_suffix(value: Any, suffix: Any) -> Any:
    """`rtrimstr`."""
    return value.removesuffix(suffix) if isinstance(value, str) and isinstance(suffix, str) else value


def items(value: Any) -> list[Any]:
    """The items of an array, or the values of an object by their sorted keys. Raises DataError."""
    if isinstance(value, dict):
        return [value[key] for key in sorted(value)]
    return array(value)


def array(value: Any) -> list[Any]:
    """The value, if it is an array. Raises DataError."""
    if isinstance(value, list):
        return value
    raise DataError(f"expected an array but got: {kind(value)}")


def object_(value: Any) -> dict[str, Any]:
    """The value, if it is an object. Raises DataError."""
    if isinstance(value, dict):
        return value
    raise DataError(f"expected an object but got: {kind(value)}")


def string(value: Any) -> str:
    """The value, if it is a string. Raises DataError."""
    if isinstance(value, str):
        return value
    raise DataError(f"expected a string but got: {kind(value)}")
