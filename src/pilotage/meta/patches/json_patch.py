"""JSON Patch (RFC 6902) as kube-apiserver applies it, which is more lenient than the RFC.

`replace` adds a member that is missing, `copy` of a missing member adds null, a `value` that is missing is null, and
`test` for null passes where the member is missing. An index counts from the end if it is negative, and may have leading
zeros. Text before the first slash of a path is ignored.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import msgspec

from pilotage.errors import MalformedPatch, PatchDoesNotApply, PatchError, PatchTooLarge
from pilotage.meta.documents import copied, same

MAX_OPERATIONS = 10_000
MAX_COPIED_BYTES = 3 * 1024 * 1024
"""The limit of what all `copy` operations of a patch add, as JSON: without it, 30 operations could create a
gigabyte."""

Pointer: TypeAlias = "tuple[str, ...]"

_INDEX = re.compile(r"[-+]?[0-9]{1,18}", re.ASCII)
_BAD_ESCAPE = re.compile(r"~(?![01])")
_ABSENT = object()
_SHOWN = 200


@dataclass(frozen=True, slots=True)
class PatchOperation:
    """One step of a patch, read and checked."""

    op: str
    path: Pointer
    source: Pointer = ()
    """`from`, of a move or a copy."""
    value: Any = None


def parse(patch: Any) -> list[PatchOperation]:
    """Read a patch. MalformedPatch if it is not one, PatchTooLarge if it has too many operations."""
    if not isinstance(patch, list):
        raise MalformedPatch("a JSON Patch is a list of operations")
    if len(patch) > MAX_OPERATIONS:
        raise PatchTooLarge(f"a JSON Patch may have {MAX_OPERATIONS} operations, not {len(patch)}")
    return [_operation(index, item) for index, item in enumerate(patch)]


def apply(document: Any, patch: Any) -> Any:
    """`document` with the patch applied, as a new document that shares nothing with the old one or with the patch.

    A patch that fails at any operation fails as a whole. The error carries the operation's index.
    """
    operations = parse(patch)
    try:
        target = _Target(copied(document))
        for index, operation in enumerate(operations):
            _run(target, index, operation)
    except RecursionError:
        raise PatchTooLarge("the document or the patch is nested too deeply") from None
    return target.document


def pointer(text: str) -> Pointer:
    """Take a JSON Pointer apart; ValueError if it is not one."""
    if not text:
        return ()
    if not text.startswith("/"):
        raise ValueError(f"the path {_shortened(text)} must be empty or start with a slash")
    if _BAD_ESCAPE.search(text):
        raise ValueError(f"in the path {_shortened(text)} a tilde must be written ~0, and a slash within a name ~1")
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text[1:].split("/"))


def pointer_text(path: Pointer) -> str:
    """The text of a JSON Pointer."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path)


def _operation(index: int, item: Any) -> PatchOperation:
    if not isinstance(item, dict):
        raise MalformedPatch("an operation is an object", operation=index)
    op = item.get("op")
    if not isinstance(op, str) or op not in _OPERATIONS:
        raise MalformedPatch(f"op must be one of {', '.join(_OPERATIONS)}, not {op!r:.60}", operation=index)
    path = _path(index, item, "path")
    if not path and op not in ("replace", "test"):
        raise MalformedPatch(f"{op} needs a path within the document", path=item["path"], operation=index)
    source = _path(index, item, "from") if op in ("move", "copy") else ()
    if op in ("move", "copy") and not source:
        raise MalformedPatch(f"{op} needs a path within the document", path=item["from"], operation=index)
    return PatchOperation(op, path, source, item.get("value"))


def _path(index: int, item: dict[str, Any], member: str) -> Pointer:
    text = item.get(member)
    if not isinstance(text, str):
        raise MalformedPatch(f"{member} must be a string, a JSON Pointer", operation=index)
    steps = text.split("/")[1:]
    if text and not steps:
        raise MalformedPatch(f"the path {_shortened(text)} has no slash", path=text, operation=index)
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in steps)


class _Target:
    """The document that is being changed, in place."""

    def __init__(self, document: Any) -> None:
        self.document = document
        self.copied_bytes = 0

    def get(self, path: Pointer) -> Any:
        """The value at a path; of a member that is missing in its object, null."""
        if not path:
            return self.document
        parent = self._parent(path)
        if isinstance(parent, dict):
            return parent.get(path[-1])
        return parent[_index(path, len(path) - 1, len(parent) - 1)]

    def add(self, path: Pointer, value: Any) -> None:
        parent, last = self._parent(path), path[-1]
        if isinstance(parent, dict):
            parent[last] = value
        else:
            parent.insert(len(parent) if last == "-" else _index(path, len(path) - 1, len(parent)), value)

    def remove(self, path: Pointer) -> Any:
        parent, last = self._parent(path), path[-1]
        if isinstance(parent, dict):
            if last not in parent:
                raise _missing(path, len(path) - 1)
            return parent.pop(last)
        return parent.pop(_index(path, len(path) - 1, len(parent) - 1))

    def replace(self, path: Pointer, value: Any) -> None:
        if not path:
            self.document = value
            return
        parent, last = self._parent(path), path[-1]
        if isinstance(parent, dict):
            parent[last] = value
        else:
            parent[_index(path, len(path) - 1, len(parent) - 1)] = value

    def _parent(self, path: Pointer) -> Any:
        """The object or list that contains, or would contain, the value at the path."""
        value = self.document
        for depth in range(len(path) - 1):
            value = _step(value, path, depth)
        if not isinstance(value, dict | list):
            raise _missing(path, len(path) - 1)
        return value


def _run(target: _Target, index: int, operation: PatchOperation) -> None:
    try:
        _OPERATIONS[operation.op](target, operation)
    except PatchError as error:
        raise type(error)(str(error), path=error.path, operation=index) from None


def _add(target: _Target, operation: PatchOperation) -> None:
    target.add(operation.path, copied(operation.value))


def _remove(target: _Target, operation: PatchOperation) -> None:
    target.remove(operation.path)


def _replace(target: _Target, operation: PatchOperation) -> None:
    target.replace(operation.path, copied(operation.value))


def _move(target: _Target, operation: PatchOperation) -> None:
    target.add(operation.path, target.remove(operation.source))


def _copy(target: _Target, operation: PatchOperation) -> None:
    value = target.get(operation.source)
    target.copied_bytes += len(msgspec.json.encode(value))
    if target.copied_bytes > MAX_COPIED_BYTES:
        raise PatchTooLarge(f"the patch copies more than {MAX_COPIED_BYTES} bytes")
    target.add(operation.path, copied(value))


def _test(target: _Target, operation: PatchOperation) -> None:
    if not same(target.get(operation.path), operation.value):
        raise _does_not_apply(operation.path, len(operation.path), "has another value than the test expects")


_OPERATIONS: dict[str, Callable[[_Target, PatchOperation], None]] = {
    "add": _add,
    "remove": _remove,
    "replace": _replace,
    "move": _move,
    "copy": _copy,
    "test": _test,
}


def _step(value: Any, path: Pointer, depth: int) -> Any:
    if isinstance(value, dict):
        found = value.get(path[depth], _ABSENT)
        if found is not _ABSENT:
            return found
    elif isinstance(value, list):
        return value[_index(path, depth, len(value) - 1)]
    raise _missing(path, depth)


def _index(path: Pointer, depth: int, highest: int) -> int:
    step = path[depth]
    if not _INDEX.fullmatch(step):
        raise _does_not_apply(path, depth, "is in a list, and its last part is not an index")
    index = int(step)
    if index < 0:  # counted from the end
        index += highest + 1
    if not 0 <= index <= highest:
        raise _does_not_apply(path, depth, "is past the end of the list")
    return index


def _missing(path: Pointer, depth: int) -> PatchDoesNotApply:
    return _does_not_apply(path, depth, "does not exist")


def _does_not_apply(path: Pointer, depth: int, reason: str) -> PatchDoesNotApply:
    text = pointer_text(path[: depth + 1])
    return PatchDoesNotApply(f"{_shortened(text)} {reason}", path=text)


def _shortened(text: str) -> str:
    """The beginning of a pointer, for a message: a hostile one may be megabytes long."""
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
