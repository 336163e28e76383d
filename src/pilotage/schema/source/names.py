"""Names of Python for names of JSON."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Collection
from functools import cache

import msgspec

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_TYPES = {"bool", "bytes", "dict", "float", "int", "list", "pt", "str"}
"""Names in the types of fields: a field of that name would replace them inside of its class."""
_RESOURCE = {"api_version", "kind"}
"""Properties that every resource has."""


def attribute_name(name: str, taken: Collection[str], resource: bool = False) -> str:
    """The name of a field for a property: `podCIDR` is `pod_cidr`."""
    words = [word.lower() for word in _WORD.findall(name)]
    found = "_".join(words) or "field"
    if not found[0].isalpha():
        found = f"field_{found}"
    reserved = (
        keyword.iskeyword(found) or found in _TYPES or is_builtin_module(found) or (resource and found in _RESOURCE)
    )
    return _unique(f"{found}_" if reserved else found, taken)


def is_builtin_module(name: str) -> bool:
    """Whether modules may import a package of built-in types under this name."""
    return re.fullmatch(r"[a-z]+_v[0-9]+", name) is not None


@cache
def json_name(attribute: str) -> str:
    """The name of a field in JSON if no other is given."""
    made = msgspec.defstruct("Named", [(attribute, int)], rename="camel")
    return made.__struct_encode_fields__[0]


def class_name(parts: tuple[str, ...], taken: Collection[str]) -> str:
    """The name of a class for a path: `Certificate`, `spec`, `issuerRef` is `CertificateSpecIssuerRef`."""
    words = [word for part in parts for word in _words(part)]
    found = "".join(words)
    if not found[:1].isalpha():
        found = f"Model{found}"
    if keyword.iskeyword(found) or hasattr(builtins, found):
        found = f"{found}Model"
    return _unique(found, taken)


def _words(part: str) -> list[str]:
    return [word[0].upper() + word[1:] for word in re.findall("[A-Za-z0-9]+", part)]


def _unique(name: str, taken: Collection[str]) -> str:
    number = 2
    found = name
    while found in taken:
        found = f"{name.rstrip('_')}_{number}" if name.islower() else f"{name}{number}"
        number += 1
    return found
