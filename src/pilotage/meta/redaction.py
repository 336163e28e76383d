"""Redaction: hides values of Secrets where an object or a message is printed or logged.

Keys and sizes are shown; they are needed to find a mistake.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

REDACTED = "<redacted>"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which kubectl keeps the whole object, of Secrets too."""
_SECRET_FIELDS = {("", "Secret"): ("data", "string_data")}
_CUT = " - at `$"
_ENUM = "Invalid enum value "


def hidden(values: Any) -> Any:
    """A mapping with its keys and without its values."""
    return dict.fromkeys(values, REDACTED) if isinstance(values, Mapping) else REDACTED


def hidden_fields(group: str, kind: str, obj: object) -> dict[str, Any]:
    """What to show instead of the secret fields of an object of a kind."""
    names = _SECRET_FIELDS.get((group, kind), ())
    return {name: hidden(value) for name in names if (value := getattr(obj, name, None))}


def metadata_repr(metadata: msgspec.Struct, annotations: Mapping[str, str]) -> str:
    """The text of metadata with these annotations, as it may be shown."""
    if LAST_APPLIED in annotations:
        metadata = msgspec.structs.replace(metadata, annotations={**annotations, LAST_APPLIED: REDACTED})
    return msgspec.Struct.__repr__(metadata)


def reason_of(error: Exception) -> str:
    """Why bytes cannot be decoded, without the bytes themselves, which the error may contain."""
    if isinstance(error, UnicodeDecodeError):
        return f"byte {error.start} is not {error.encoding.upper()}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"  # Python's own text describes its stack, and differs between versions
    if isinstance(error, msgspec.DecodeError) and str(error).startswith(_ENUM):
        return _ENUM.strip() + "".join(str(error).rpartition(_CUT)[1:])
    return str(error)
