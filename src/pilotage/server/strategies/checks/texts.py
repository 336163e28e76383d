"""Strings with a format: names, keys, variables, headers, file paths."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pilotage.errors import Cause
from pilotage.meta.causes import invalid, required, too_long
from pilotage.meta.validation.names import NameRule, dns_1123_label, dns_1123_subdomain

_is_config_key = re.compile("[-._a-zA-Z0-9]+").fullmatch
_is_header = re.compile("[-A-Za-z0-9]+").fullmatch
_HTTP_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_is_http_path = re.compile(_HTTP_PATH).fullmatch
_CONFIG_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
_HEADER = (
    "a valid HTTP header must consist of alphanumeric characters or '-' "
    "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
)
_VARIABLE = "a valid environment variable name must consist only of printable ASCII characters other than '='"
_MAX_DRIVER_NAME = 63


def text(value: str, path: str, rule: NameRule = dns_1123_subdomain) -> Iterator[Cause]:
    """A text of the form that the rule has; an empty one is checked, too."""
    for message in rule(value):
        yield invalid(path, value, message)


def optional_text(value: str | None, path: str, rule: NameRule = dns_1123_subdomain) -> Iterator[Cause]:
    """A text of this form, unless it is absent or empty."""
    if value:
        yield from text(value, path, rule)


def required_text(
    value: str | None, path: str, rule: NameRule = dns_1123_subdomain, detail: str = ""
) -> Iterator[Cause]:
    """A text of this form that is not empty; `detail` is about an empty one."""
    if value:
        yield from text(value, path, rule)
    else:
        yield required(path, detail)


def length(value: str, path: str, most: int) -> Iterator[Cause]:
    """A text of at most `most` bytes."""
    if len(value.encode(errors="replace")) > most:
        yield too_long(path, most)


def config_key(value: str) -> list[str]:
    """The keys of ConfigMaps and Secrets."""
    messages = ["must be no more than 253 characters"] if len(value.encode(errors="replace")) > 253 else []
    if not _is_config_key(value):
        messages.append(_CONFIG_KEY)
    if value in (".", ".."):
        messages.append(f"must not be '{value}'")
    elif value.startswith(".."):
        messages.append("must not start with '..'")
    return messages


def header_name(value: str) -> list[str]:
    """The names of HTTP headers."""
    return [] if _is_header(value) else [_HEADER]


def variable_name(value: str) -> list[str]:
    """The names of environment variables."""
    return [] if value.isascii() and value.isprintable() and "=" not in value else [_VARIABLE]


def relative_path(value: str, path: str) -> Iterator[Cause]:
    """A path that stays below the directory that it is relative to."""
    if value.startswith("/"):
        yield invalid(path, value, "must be a relative path")
    yield from no_backsteps(value, path)


def no_backsteps(value: str, path: str) -> Iterator[Cause]:
    if ".." in value and ".." in value.split("/"):
        yield invalid(path, value, "must not contain '..'")


def file_path(value: str, path: str) -> Iterator[Cause]:
    """A relative file path that does not start with two dots, which names of the kubelet do."""
    yield from relative_path(value, path)
    if value.startswith("..") and not value.startswith("../"):
        yield invalid(path, value, "must not start with '..'")


def domain(value: str, path: str) -> Iterator[Cause]:
    """A domain with two parts at least; it may end with a dot."""
    if not value:
        yield required(path)
        return
    name = value.removesuffix(".")
    if problems := dns_1123_subdomain(name):
        yield invalid(path, name, ",".join(problems))
    elif "." not in name:
        yield invalid(path, name, "should be a domain with at least two segments separated by dots")
    else:
        for label in name.split("."):
            if problems := dns_1123_label(label):
                yield invalid(path, label, ",".join(problems))
                return


def domain_path(value: str, path: str) -> Iterator[Cause]:
    """A path with a domain before it: `example.com/name`."""
    if not value:
        yield required(path)
        return
    domain, _, rest = value.partition("/")
    if not domain or not rest:
        yield invalid(path, value, 'must be a domain-prefixed path (such as "acme.io/foo")')
        return
    yield from text(domain, path)
    if not _is_http_path(rest):
        yield invalid(path, rest, f"Invalid path (regex used for validation is '{_HTTP_PATH}')")


def driver_name(name: str, path: str) -> Iterator[Cause]:
    """A short subdomain in which upper-case letters count as lower-case."""
    if not name:
        yield required(path)
        return
    yield from length(name, path, _MAX_DRIVER_NAME)
    yield from (invalid(path, name, problem) for problem in dns_1123_subdomain(name.lower()))
