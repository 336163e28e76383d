"""Limits of the size and the depth of documents from clients."""

from __future__ import annotations

from typing import Any

from pilotage.errors import DecodeError
from pilotage.meta.values import Value


class DocumentLimits(Value, frozen=True):
    """`size` in bytes of text; `depth` in nested objects and lists."""

    size: int = 3 * 1024 * 1024
    """The length of the text, in bytes."""
    depth: int = 64
    """How deep objects and lists may be nested."""


DEFAULT = DocumentLimits()
MAX_FILE_SIZE = 256 * 1024 * 1024
"""The length of a file with any number of documents, in bytes. They are all in memory at the same time."""
MAX_FILE_VALUES = 10_000_000
"""Values in such a file."""
_ENTRIES = 4
"""How much deeper managed fields are than the fields themselves: a list of entries, with the fields in each."""


def check_size(size: int, limits: DocumentLimits) -> None:
    """Raise DecodeError if a text is larger than allowed."""
    if size > limits.size:
        raise DecodeError(too_large(size, limits))


def too_large(size: int, limits: DocumentLimits) -> str:
    """The message about a document that is too large."""
    return f"the document has {size} bytes; at most {limits.size} are read"


def check_file_size(size: int) -> None:
    """Raise DecodeError if a file with several documents is larger than allowed."""
    if size > MAX_FILE_SIZE:
        raise DecodeError(f"the file has {size} bytes; at most {MAX_FILE_SIZE} are read: split it")


def check_depth(document: Any, limits: DocumentLimits) -> None:
    """Raise DecodeError if objects and lists are nested deeper than allowed. Does not recurse.

    The managed fields of an object may be deeper: the server has added them, and a client sends them back.
    """
    if not _is_deeper(document, limits.depth):
        return
    metadata = document.get("metadata") if isinstance(document, dict) else None
    if isinstance(metadata, dict) and "managedFields" in metadata:
        entries = metadata["managedFields"]
        rest = document | {"metadata": {key: metadata[key] for key in metadata if key != "managedFields"}}
        if not _is_deeper(rest, limits.depth) and not _is_deeper(entries, limits.depth + _ENTRIES):
            return
    raise too_deep(limits)


def too_deep(limits: DocumentLimits) -> DecodeError:
    """The error for a document that is nested too deeply."""
    return DecodeError(f"the document is nested deeper than {limits.depth} levels")


def _is_deeper(document: Any, depth: int) -> bool:
    level = [document] if isinstance(document, dict | list) else []
    for _ in range(depth):
        if not level:
            return False
        level = [
            item
            for outer in level
            for item in (outer.values() if outer.__class__ is dict else outer)
            if item.__class__ is dict or item.__class__ is list
        ]
    return bool(level)
