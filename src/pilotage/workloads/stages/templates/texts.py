"""The functions of sprig about strings."""

from __future__ import annotations

from typing import Any

from pilotage.workloads.stages.templates.functions import function
from pilotage.workloads.stages.templates.general import to_string
from pilotage.workloads.stages.templates.govalues import GoInt
from pilotage.workloads.stages.templates.limits import check_length
from pilotage.workloads.stages.templates.literals import quoted

_SPACE = " \t\n\v\f\r\x85\xa0"


def texts_of(value: Any) -> list[str]:
    """The items of a list as strings, without nil; any other value as one string."""
    if isinstance(value, list):
        return [to_string(item) for item in value if item is not None]
    return [] if value is None else [to_string(value)]


def _each_quoted(*values: Any) -> str:
    return " ".join(quoted(to_string(value)) for value in values if value is not None)


def _each_single_quoted(*values: Any) -> str:
    return " ".join(f"'{to_string(value)}'" for value in values if value is not None)


def _repeated(count: GoInt, text: str) -> str:
    check_length(len(text) * max(count, 0))
    return text * max(count, 0)


def _indented(spaces: GoInt, text: str) -> str:
    check_length((text.count("\n") + 1) * max(spaces, 0) + len(text))
    pad = " " * max(spaces, 0)
    return pad + text.replace("\n", "\n" + pad)


def _replaced(old: str, new: str, text: str) -> str:
    found = text.count(old) if old else len(text) + 1
    check_length(len(text) + found * len(new))
    return text.replace(old, new)


def _part(first: GoInt, last: GoInt, text: str) -> str:
    if first < 0:
        return text[: max(last, 0)]
    if last < 0 or last > len(text):
        return text[first:]
    return text[first:last]


def _shortened(count: GoInt, text: str) -> str:
    if count < 0 and len(text) + count > 0:
        return text[len(text) + count :]
    return text[:count] if 0 <= count < len(text) else text


def _joined(separator: str, value: Any) -> str:
    texts = texts_of(value)
    check_length(sum(map(len, texts)) + len(separator) * len(texts))
    return separator.join(texts)


def _numbered(parts: list[str]) -> dict[str, Any]:
    return {f"_{index}": part for index, part in enumerate(parts)}


def _separated(separator: str, text: str) -> list[str]:
    return text.split(separator) if separator else list(text)


def _titled(text: str) -> str:
    return "".join(
        each.upper() if not index or _separates(text[index - 1]) else each for index, each in enumerate(text)
    )


def _separates(character: str) -> bool:
    """Whether a new word begins after it."""
    return not (character.isalnum() or character == "_") if character.isascii() else character.isspace()


TEXTS = {
    "quote": function("...any", _each_quoted),
    "squote": function("...any", _each_single_quoted),
    "cat": function("...any", lambda *values: " ".join(to_string(value) for value in values if value is not None)),
    "upper": function("string", str.upper),
    "lower": function("string", str.lower),
    "title": function("string", _titled),
    "trim": function("string", lambda text: text.strip(_SPACE)),
    "trimAll": function("string string", lambda signs, text: text.strip(signs) if signs else text),
    "trimPrefix": function("string string", lambda prefix, text: text.removeprefix(prefix)),
    "trimSuffix": function("string string", lambda suffix, text: text.removesuffix(suffix)),
    "nospace": function("string", lambda text: "".join(text.split())),
    "repeat": function("int string", _repeated),
    "substr": function("int int string", _part),
    "trunc": function("int string", _shortened),
    "contains": function("string string", lambda part, text: part in text),
    "hasPrefix": function("string string", lambda prefix, text: text.startswith(prefix)),
    "hasSuffix": function("string string", lambda suffix, text: text.endswith(suffix)),
    "replace": function("string string string", _replaced),
    "indent": function("int string", _indented),
    "nindent": function("int string", lambda spaces, text: "\n" + _indented(spaces, text)),
    "split": function("string string", lambda separator, text: _numbered(_separated(separator, text))),
    "splitList": function("string string", _separated),
    "join": function("string any", _joined),
    "toStrings": function("any", texts_of),
}
"""By name."""
