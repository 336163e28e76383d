"""The kinds of a tool: classes, or references to them that are loaded when a command needs more than their columns.

What a table needs of a kind that is named by reference (its names and columns) is kept in a file of the user's cache
between runs. It is used as long as every source file that was loaded with the kinds is unchanged.
"""

from __future__ import annotations

import json
import os
import sys
import zlib
from collections.abc import Iterable, Sequence
from functools import cached_property

import pilotage
from pilotage.errors import Record
from pilotage.kit import references
from pilotage.server.definitions import ShownKind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pilotage.meta.documents import Document
    from pilotage.meta.models import Resource

_EVERYWHERE = ("namespaces", "namespace", "ns", "events", "event", "ev")
"""The names of the built-in resources that every tool has."""


class Visible(Record):
    """The kinds that a command can name: the kinds of a program, or everything that is defined (None)."""

    __slots__ = __match_args__ = ("kinds", "taken")

    kinds: tuple[ShownKind, ...] | None
    taken: frozenset[str]
    """Names of built-in resources, which are read by a server."""

    def __init__(self, kinds: tuple[ShownKind, ...] | None, taken: frozenset[str]) -> None:
        self._set(kinds, taken)


class ToolKinds:
    """The kinds of a tool. `declared` are classes and references, or one reference."""

    def __init__(self, tool: str, declared: Iterable[type[Resource] | str] | str) -> None:
        self._tool = tool
        self._declared = (declared,) if isinstance(declared, str) else tuple(declared)
        self._references = tuple(each for each in self._declared if isinstance(each, str))
        for each in self._references:
            references.module_of(each)

    @cached_property
    def classes(self) -> tuple[type[Resource], ...]:
        """All of them, imported now. Raises InvalidDefinition."""
        found: list[type[Resource]] = []
        for each in self._declared:
            found += references.load(each) if isinstance(each, str) else [each]
        if self._origins:
            self._remember(visible(found))
        return tuple(found)

    @property
    def visible(self) -> Visible | None:
        """What a table needs of them, without importing any; None if that is not known."""
        if not self._references or "classes" in self.__dict__:
            return visible(self.classes)
        if not self._origins:
            return None
        try:
            with open(self._file, encoding="utf-8") as file:
                document = json.load(file)
            if document["for"] != self._key or any(
                _stat(path) != [size, time] for path, size, time in document["files"]
            ):
                return None
            return Visible(tuple(ShownKind(*kind) for kind in document["kinds"]), frozenset(document["taken"]))
        except (OSError, ValueError, KeyError, TypeError):  # there is none, or not of this version
            return None

    def _remember(self, shown: Visible) -> None:
        """Keep what a table needs. Where that fails, the next command imports the kinds again."""
        try:
            files = [[path, *_stat(path)] for path in _sources()]
            kinds = [[getattr(kind, name) for name in kind.__slots__] for kind in shown.kinds or ()]
            document: Document = {"for": self._key, "files": files, "kinds": kinds, "taken": sorted(shown.taken)}
            text = json.dumps(document)
            os.makedirs(os.path.dirname(self._file), mode=0o700, exist_ok=True)
            draft = f"{self._file}.{os.getpid()}"
            with open(draft, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(draft, self._file)
        except (OSError, ValueError):
            pass  # a read-only home, a full disk, a module in an archive, a path that is not text

    @cached_property
    def _origins(self) -> list[str]:
        return references.origins(self._references)

    @property
    def _key(self) -> list[str]:
        """The program that the file is for: where it is installed, and what it runs on."""
        return [
            *self._references,
            *self._origins,
            sys.version,
            sys.prefix,
            os.environ.get("PYTHONPATH", ""),
            pilotage.__version__,
            pilotage.__file__,
        ]

    @property
    def _file(self) -> str:
        cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
        return f"{cache}/pilotage/kinds/{self._tool}-{zlib.crc32(chr(0).join(self._key).encode()):08x}.json"


def has_versions(kinds: Sequence[type[Resource]]) -> bool:
    """Whether a kind has several versions, between which the program may convert."""
    return len({kind.__resource__.gvk.group_kind for kind in kinds}) < len(kinds)


def visible(kinds: Iterable[type[Resource]]) -> Visible:
    """What a table needs of some kinds."""
    own: list[ShownKind] = []
    taken = set(_EVERYWHERE)
    for kind in kinds:
        info = kind.__resource__
        if info.builtin:
            taken |= {info.plural.lower(), info.singular.lower(), info.gvk.kind.lower(), *info.short_names}
        else:
            own.append(ShownKind.of(kind))
    return Visible(tuple(own), frozenset(taken))


def _sources() -> list[str]:
    """The files of all modules that are loaded, except the standard library's and Pilotage's files."""
    known = {*sys.stdlib_module_names, "pilotage"}
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] not in known]
    return sorted({path for module in modules if (path := getattr(module, "__file__", None))})


def _stat(path: str) -> list[int]:
    found = os.stat(path)
    return [found.st_size, found.st_mtime_ns]
