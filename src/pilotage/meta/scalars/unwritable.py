"""Values that JSON does not have: NaN and infinity, for which the encoder writes null, which deletes a field; halves of
surrogate pairs; objects of other classes."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from pilotage.errors import Cause
from pilotage.meta.causes import invalid
from pilotage.meta.scalars.hooks import ENCODE_ERRORS, Documented, enc_hook

_encode = msgspec.json.Encoder(enc_hook=enc_hook).encode


def unwritable(value: Any, path: str = "") -> Iterator[Cause]:
    """A cause for each value in an object or a document that JSON does not have."""
    if isinstance(value, Documented):
        value = value.document
    if isinstance(value, msgspec.Struct):
        fields = zip(value.__struct_encode_fields__, msgspec.structs.astuple(value), strict=True)
        value = {name: inner for name, inner in fields if inner is not msgspec.UNSET}
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not _is_written({key: None}):
                yield invalid(path, ascii(key), "a name in JSON must be a text that can be encoded as UTF-8")
            yield from unwritable(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for number, inner in enumerate(value):
            yield from unwritable(inner, f"{path}[{number}]")
    elif isinstance(value, float) and not math.isfinite(value):
        yield invalid(path, str(value), "must be a finite number")
    elif not _is_written(value):
        if isinstance(value, str):
            yield invalid(path, ascii(value), "has half of a surrogate pair, which cannot be encoded as UTF-8")
        else:
            yield invalid(path, type(value).__name__, "a value of this type cannot be written as JSON")


def may_have_infinite_number(value: object) -> bool:
    """Whether an object may have NaN or an infinity: the quick check of an object whose JSON has a null, as the
    conditions of Pods have. In MessagePack such a number has its own bytes, which hardly anything else has."""
    packed = _pack(value)
    return b"\xcb" in packed and _INFINITE.search(packed) is not None


_pack = msgspec.msgpack.Encoder(enc_hook=enc_hook).encode
_INFINITE = re.compile(rb"\xcb[\x7f\xff][\xf0\xf8]")
"""The first bytes of a float that is an infinity or NaN."""


def _is_written(value: Any) -> bool:
    try:
        _encode(value)
    except ENCODE_ERRORS:
        return False
    return True
