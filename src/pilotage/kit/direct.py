"""`get` straight from a SQLite file, as kubectl prints what a server answers: no class of a kind is imported.

Names, scope and columns come from the definitions that are stored in the file. If the output might differ from the
output of the client and server, the command uses those instead, before anything is printed: flags that need more, other
storages, definitions that are older than the program, names that no object has, empty lists.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from pilotage.errors import BadRequest
from pilotage.kit.console.errors import CommandError
from pilotage.kit.printers.documents import kind_of
from pilotage.kit.printers.output import is_table, printer_of
from pilotage.kit.printers.table import KindTables, printed
from pilotage.meta.scalars import times
from pilotage.server.definitions import NeedsServer
from pilotage.server.stored.filereader import FileReader, FileResource
from pilotage.storage.sqlite.parts import OpenFile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pilotage.kit.arguments.planning import Where
    from pilotage.kit.arguments.reads import GetArguments
    from pilotage.kit.kinds import Visible
    from pilotage.meta.documents import Document


def get(where: Where, namespace: str, visible: Visible, options: GetArguments) -> int | None:
    """Print what the arguments of `get` select in a tenant of a storage; the exit code.
    `namespace` is the namespace of objects that name no namespace. None, and nothing is printed, if a server is
    needed."""
    path = where.storage.removeprefix("sqlite:")
    if path == where.storage or not path or not os.path.isfile(os.path.expanduser(path)):
        return None
    others = (options.filename, options.field_selector, options.sort_by, options.watch, options.watch_only)
    if any(others) or not (_is_key_part(where.tenant) and _is_key_part(namespace)):
        return None
    try:
        with _reader(path, where.tenant) as reader:
            text = _text(reader, "" if options.all_namespaces else namespace, visible, options)
    except (NeedsServer, CommandError, BadRequest):  # the server may answer with another error
        return None
    except (LookupError, TypeError, ValueError, AttributeError):  # what is stored is damaged: the server names it
        return None
    sys.stdout.write(text)
    sys.stdout.flush()
    return 0


def _is_key_part(name: str) -> bool:
    """Whether a key may contain the name. (One that is not a valid name has no objects.)"""
    return name.isascii() and name.replace("-", "").isalnum()


@contextmanager
def _reader(path: str, tenant: str) -> Iterator[FileReader]:
    """The file in one read transaction, checked as every storage is when it is opened. Raises StorageError."""
    file = OpenFile(path)
    try:
        file.verify()
    except BaseException:
        file.abandon()
        raise
    try:
        with file.log.transaction(write=False):
            yield FileReader(file.log, tenant)
    finally:
        file.close()


def _text(reader: FileReader, namespace: str, visible: Visible, options: GetArguments) -> str:
    """What is printed. Raises NeedsServer."""
    chosen = _chosen(_resources(reader, visible), visible.taken, options)
    found = [
        (kind, _selected(reader.documents(kind, namespace if kind.namespaced else "", names), options.selector))
        for kind, names in chosen
    ]
    if is_table(options.output):
        now, wide = times.system_clock(), options.output == "wide"
        tables = [
            KindTables(kind_of(kind), kind.namespaced, [kind.table(items, now, wide=wide)]) for kind, items in found
        ]
        text = printed(tables, options)
    else:
        write = printer_of(options.output, headers=not options.no_headers, managed_fields=options.show_managed_fields)
        items = [each for _, documents in found for each in documents]
        text = write(items, [len(names) for _, names in chosen] != [1]) if items else ""
    if not text:
        raise NeedsServer
    return text


def _selected(documents: Iterator[Document], selector: str) -> Iterator[Document]:
    if not selector:
        return documents
    from pilotage.meta.selectors.selectors import Selector

    matches = Selector.parse(selector).matches
    return (each for each in documents if matches(each["metadata"].get("labels") or {}))


def _resources(reader: FileReader, visible: Visible) -> list[FileResource]:
    """What can be named. Raises NeedsServer where a kind of the program is not stored as it is."""
    defined = reader.resources()
    if visible.kinds is None:
        return defined
    by_name = {resource.definition["metadata"]["name"]: resource for resource in defined}
    found: list[FileResource] = []
    for kind in visible.kinds:
        resource = by_name.get(f"{kind.plural}.{kind.group}")
        if resource is None or resource.kind != kind.kind or not kind.shown_by(resource.definition):
            raise NeedsServer
        found.append(resource)
    return found


def _chosen(
    resources: Sequence[FileResource], taken: frozenset[str], options: GetArguments
) -> list[tuple[FileResource, list[str]]]:
    """What the words select: `TYPE`, `TYPE NAME…`, `TYPE/NAME…`, `TYPE,TYPE`. Raises NeedsServer.

    Each resource with the names of its objects; without a name, all of them.
    """
    words: list[str] = options.resources
    if any("/" in word for word in words):
        parts = [word.split("/") for word in words]
        if not all(len(part) == 2 and part[1] for part in parts):
            raise NeedsServer
        pairs = [(_named(kind, resources, taken), name) for kind, name in parts]
    else:
        types, *names = words or [""]
        if not all(names):
            raise NeedsServer
        kinds = [_named(word, resources, taken) for word in types.split(",")]
        pairs = [(kind, name) for kind in kinds for name in names or [""]]
    found = [(kind, [name for _, name in group]) for kind, group in groupby(pairs, key=lambda pair: pair[0])]
    if (options.all_namespaces or options.selector) and any(name for _, name in pairs):
        raise NeedsServer
    if any("" in names and len(names) > 1 for _, names in found):  # a type twice
        raise NeedsServer
    return [(kind, [name for name in names if name]) for kind, names in found]


def _named(word: str, resources: Sequence[FileResource], taken: frozenset[str]) -> FileResource:
    """The only resource with this name: its plural, else another name. Raises NeedsServer."""
    name = word.lower()
    found = [each for each in resources if each.plural.lower() == name] or [
        each for each in resources if name in each.other_names
    ]
    if len(found) != 1 or not name or name in taken:
        raise NeedsServer
    found[0].check()
    return found[0]
