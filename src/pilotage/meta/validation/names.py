"""Rules for names, label keys and values, finalizers: each gives Kubernetes' messages, none for a valid value.

The patterns are anchored and cannot backtrack over more than one part of a name, so matching takes linear time, even
for hostile text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from pilotage.errors import BadRequest

TYPE_CHECKING = False  # a command that prints a table loads this, and no typing
if TYPE_CHECKING:
    from typing import Literal

    NameForm = Literal["subdomain", "label", "dns1035", "path"]
    """The form of the names of a kind's objects."""
else:
    NameForm = str
NameRule = Callable[[str], list[str]]
"""Returns what is wrong with a name."""

MAX_QUALIFIED_NAME = 253 + 1 + 63
"""The most characters of a label's key."""
_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME_PART = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_NAME_PART})?"


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("(", "(?:"))  # faster: what a group matches is not needed


_is_label = _compiled(_LABEL).fullmatch
is_subdomain = _compiled(_SUBDOMAIN).fullmatch
"""Matches the name of an object, of at most 253 characters, that is valid."""
_is_label_1035 = _compiled(_LABEL_1035).fullmatch
_is_name_part = _compiled(_NAME_PART).fullmatch
_matches_value = _compiled(_VALUE).fullmatch

_BETWEEN = "must start and end with an alphanumeric character"
_NAME_PART_TEXT = f"must consist of alphanumeric characters, '-', '_' or '.', and {_BETWEEN}"


def dns_1123_label(value: str) -> list[str]:
    """The names of namespaces, and other names that become one part of a DNS name."""
    if len(value) <= 63 and is_label(value):
        return []
    messages = _too_long(value, 63, "characters")
    if _is_label(value):
        return messages
    if is_subdomain(value):
        return [*messages, "must not contain dots"]
    text = f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and {_BETWEEN}"
    return [*messages, _pattern(text, _LABEL, "my-name", "123-abc")]


def tenant_problem(tenant: str) -> str:
    """Why a tenant of a storage cannot have this name, empty if it can. Keys begin with it, so it has no slash."""
    problems = dns_1123_label(tenant)
    return f"invalid tenant {tenant[:50]!r}: {'; '.join(problems)}" if problems else ""


def dns_1123_subdomain(value: str) -> list[str]:
    """The names of most objects."""
    return _subdomain(value, "characters")


def wildcard_subdomain(value: str) -> list[str]:
    """Host names with a wildcard: `*.example.com`."""
    messages = _too_long(value, 253, "characters")
    if not (value.startswith("*.") and is_subdomain(value, 2)):
        text = (
            "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must "
            "consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character"
        )
        messages.append(_pattern(text, rf"\*\.{_SUBDOMAIN}", "*.example.com"))
    return messages


def dns_1035_label(value: str) -> list[str]:
    """The names of services: a DNS label that starts with a letter."""
    if len(value) <= 63 and _is_label_1035(value):
        return []
    messages = _too_long(value, 63, "characters")
    if not _is_label_1035(value):
        text = (
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
            "start with an alphabetic character, and end with an alphanumeric character"
        )
        messages.append(_pattern(text, _LABEL_1035, "my-name", "abc-123"))
    return messages


def qualified_name(value: str) -> list[str]:
    """The keys of labels and the names of finalizers: `name` or `example.com/name`."""
    if len(value) <= MAX_QUALIFIED_NAME and is_qualified_name(value):
        return []
    prefix, slash, name = value.rpartition("/")
    pattern = _pattern(_NAME_PART_TEXT, _NAME_PART, "MyName", "my.name", "123-abc")
    if "/" in prefix:
        rest = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {pattern} {rest}"]
    messages = []
    if slash:
        found = _subdomain(prefix, "bytes") if prefix else ["must be non-empty"]
        messages += [f"prefix part {message}" for message in found]
    found = _too_long(name, 63, "bytes") if name else ["must be non-empty"]
    if not _is_name_part(name):
        found.append(pattern)
    return messages + [f"name part {message}" for message in found]


def label_value(value: str) -> list[str]:
    """The values of labels; an empty value is valid."""
    if len(value) <= 63 and is_label_value(value):
        return []
    messages = _too_long(value, 63, "bytes")
    if not _matches_value(value):
        text = (
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
            f"and {_BETWEEN}"
        )
        messages.append(_pattern(text, _VALUE, "MyValue", "my_value", "12345"))
    return messages


def path_segment_name(value: str) -> list[str]:
    """The minimum requirement of every name: it is safe as one part of a path. (Names of RBAC objects have no other
    rule.)"""
    if value in (".", ".."):
        return [f"may not be '{value}'"]
    return [f"may not contain '{part}'" for part in ("/", "%") if part in value]


def check_segment(what: str, value: str) -> None:
    """Raise BadRequest for a name or namespace that is not one part of a path: it would be the path of something
    else."""
    if not isinstance(value, str):
        raise BadRequest(f"the {what} of an object must be a str, not {type(value).__name__}")
    if "/" in value or "%" in value or value in (".", ".."):
        raise BadRequest(f'invalid {what} "{value[:300]}": {"; ".join(path_segment_name(value))}')


RULES: dict[NameForm, NameRule] = {
    "subdomain": dns_1123_subdomain,
    "label": dns_1123_label,
    "dns1035": dns_1035_label,
    "path": path_segment_name,
}


def as_prefix(rule: NameRule) -> NameRule:
    """The rule for a `generateName`, to which something is appended: it may end in a dash, and be only dots."""

    def check(value: str) -> list[str]:
        if rule is path_segment_name:
            return rule(f"{value}a")
        return rule(value[:-2] + "a" if len(value) > 1 and value.endswith("-") else value)

    return check


@lru_cache(maxsize=1024)  # the names of namespaces are few
def is_label(value: str) -> bool:
    """Whether a name of at most 63 characters is one part of a DNS name."""
    return _is_label(value) is not None


@lru_cache(maxsize=1024)  # many objects have the same
def is_label_value(value: str) -> bool:
    """Whether the value of a label, of at most 63 characters, is valid."""
    return _matches_value(value) is not None


@lru_cache(maxsize=1024)  # a program has few keys and uses them on every object
def is_qualified_name(value: str) -> bool:
    """Whether the key of a label, of at most MAX_QUALIFIED_NAME characters, is valid."""
    prefix, slash, name = value.rpartition("/")
    if len(name) > 63 or not _is_name_part(name):
        return False
    return not slash or (len(prefix) <= 253 and bool(is_subdomain(prefix)))


def _subdomain(value: str, unit: str) -> list[str]:
    if len(value) <= 253 and is_subdomain(value):
        return []
    messages = _too_long(value, 253, unit)
    if not is_subdomain(value):
        text = (
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
            f"and {_BETWEEN}"
        )
        messages.append(_pattern(text, _SUBDOMAIN, "example.com"))
    return messages


def _too_long(value: str, limit: int, unit: str) -> list[str]:
    size = len(value.encode(errors="replace"))
    return [f"must be no more than {limit} {unit}"] if size > limit else []


def _pattern(text: str, pattern: str, *examples: str) -> str:
    return f"{text} (e.g. {_choices(examples)}, regex used for validation is '{pattern}')"


def _choices(examples: Iterable[str]) -> str:
    # Kubernetes' own text has a comma and two blanks before the "or".
    return ",  or ".join(f"'{example}'" for example in examples)
