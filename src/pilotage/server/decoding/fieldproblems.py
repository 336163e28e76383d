"""Unknown and duplicate fields of a body."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import msgspec

from pilotage.meta.text import gojson, jsontext
from pilotage.rest.request import APIRequest, Verb
from pilotage.server.decoding.refusals import undecodable
from pilotage.server.resources import ResourceInfo

MAX_UNKNOWN = 100
"""How many unknown fields are named."""
_KEY = re.compile(rb'"\s*:')
_GAP = re.compile(rb'"\s+:')
_encode = msgspec.json.Encoder().encode


class FieldProblems(msgspec.Struct):
    """Unknown and duplicate fields: warnings, an error or nothing, by the field validation of the request."""

    unknown: list[str] = []
    duplicate: list[str] = []
    repeated: list[str] = []
    """Messages of the YAML reader about duplicate keys."""
    operations: list[str] = []
    """Unknown and duplicate fields of the operations of a JSON patch."""
    minimal_metadata: bool = False
    """The metadata is known to be valid."""

    def report(self, request: APIRequest, info: ResourceInfo) -> list[str]:
        """The warnings. Raises BadRequest if the request has strict field validation."""
        if not (self.unknown or self.duplicate or self.repeated or self.operations):
            return []
        validation = request.write.field_validation
        lines = self.operations + (self._custom_lines() if info.custom else self._builtin_lines(request))
        if validation == "Ignore" or not (lines or self.repeated):
            return []
        if validation == "Strict":
            if self.repeated:
                lines = ["yaml: unmarshal errors:\n  " + "\n  ".join(self.repeated), *lines]
            raise undecodable(info, request, f"strict decoding error: {', '.join(lines)}")
        return self.repeated + lines

    def _custom_lines(self) -> list[str]:
        """Kubernetes looks for duplicates first, then reads the metadata, prunes, and reads embedded metadata."""
        unknown = sorted(self.unknown, key=lambda path: (not path.startswith("metadata."), ".metadata." in path, path))
        return [*map(_duplicate, self.duplicate), *map(_unknown, unknown)]

    def _builtin_lines(self, request: APIRequest) -> list[str]:
        """In the order of the body; of a patch first its duplicate fields, then the unknown fields of its result. The
        content of an unknown field is not checked, except in a patch.
        """
        if request.verb is Verb.PATCH:
            return [*map(_duplicate, self.duplicate), *map(_unknown, sorted(self.unknown, key=_steps))]
        roots = tuple(f"{path}." for path in self.unknown) + tuple(f"{path}[" for path in self.unknown)
        known = [path for path in self.duplicate if path not in self.unknown and not path.startswith(roots)]
        if not (known and self.unknown):
            return [*map(_unknown, self.unknown), *map(_duplicate, known)]
        ordered = jsontext.by_appearance(request.body, self.unknown, known)
        return [_duplicate(path) if path in known else _unknown(path) for path in ordered]


def _steps(path: str) -> list[str]:
    return re.split(r"[.\[]", path)


def _unknown(path: str) -> str:
    return f"unknown field {gojson.quoted(path)}"


def _duplicate(path: str) -> str:
    return f"duplicate field {gojson.quoted(path)}"


def duplicate_fields(body: bytes, document: Any) -> list[str]:
    """Paths of duplicate keys. The slow scan runs only if nothing cheaper can rule them out."""
    # A key ends with `":`. Encoded again, a document has the same number of these, unless a key was duplicated. Strings
    # may contain the same characters, but then both texts have them, unless they are escaped in different ways.
    written = _encode(document)
    if written == body:  # as our own client writes
        return []
    plain = b"\\u" not in body and not _GAP.search(body)
    if plain and body.count(b'":') == written.count(b'":'):
        return []
    if len(_KEY.findall(body)) == _count_keys(document):
        return []
    with suppress(UnicodeDecodeError):  # such a body was read leniently
        return jsontext.duplicate_fields(body)
    return []


def _count_keys(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(_count_keys(item) for item in value.values() if isinstance(item, dict | list))
    if isinstance(value, list):
        return sum(_count_keys(item) for item in value if isinstance(item, dict | list))
    return 0
