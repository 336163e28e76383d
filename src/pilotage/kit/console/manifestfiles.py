"""The objects of files, folders and standard input."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pilotage.errors import DecodeError
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import STANDARD_INPUT, SUFFIXES, content_of, files_in
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersion

_SET_BY_SERVER = ("managedFields", "uid", "resourceVersion", "generation", "creationTimestamp", "selfLink")


@dataclass(frozen=True, slots=True)
class Manifest:
    """An object and the file that it is from."""

    document: Document
    source: str


def read_manifests(
    paths: Sequence[str | Path],
    *,
    recursive: bool = False,
    named: bool = True,
    required: bool = True,
    command: str = "apply",
) -> list[Manifest]:
    """All objects of the files, in their order. Raises CommandError, also if there are none and one is `required`.

    `named` objects have a name; others may have the prefix of one. `command` is what the error names.
    """
    found = [one for path in paths for file in _files(str(path), recursive) for one in _objects(file, named)]
    if required and not found:
        raise CommandError(f"no objects passed to {command}")
    return found


def applicable(document: Document) -> Document:
    """An object without the metadata that the server sets, so that the output of `get -o yaml` can be applied."""
    metadata = {name: value for name, value in document["metadata"].items() if name not in _SET_BY_SERVER}
    return document | {"metadata": metadata}


def _files(path: str, recursive: bool) -> list[str]:
    if path == STANDARD_INPUT or not os.path.isdir(path):
        return [path]
    if found := files_in(Path(path), recursive=recursive):
        return [str(file) for file in found]
    raise CommandError(f"error reading [{path}]: recognized file extensions are [{' '.join(sorted(SUFFIXES))}]")


def _objects(path: str, named: bool) -> Iterator[Manifest]:
    for document in _documents(path):
        for each in _items(document, path):
            _check(each, path, named)
            yield Manifest(each, _shown(path))


def _shown(path: str) -> str:
    return "STDIN" if path == STANDARD_INPUT else path


def _documents(path: str) -> list[Any]:
    from pilotage.meta.text import jsontext, yamltext

    try:
        content = content_of(Path(path))
    except CommandError as error:
        if isinstance(error.__cause__, FileNotFoundError) and not os.path.islink(path):
            raise CommandError(f'the path "{path}" does not exist') from error
        raise
    try:
        found = jsontext.read_stream(content)
        if found is None:
            found = yamltext.read_all(content, aliases=True)
    except DecodeError as error:
        raise CommandError(f"error parsing {_shown(path)}: {error}") from error
    return [document for document in found if document is not None]


def _items(document: Any, path: str) -> list[Any]:
    if not isinstance(document, dict):
        raise CommandError(f"error parsing {path}: it is not an object, with apiVersion, kind and metadata")
    items = document.get("items")
    return items if isinstance(items, list) and str(document.get("kind") or "").endswith("List") else [document]


def _check(document: Any, path: str, named: bool) -> None:
    if not isinstance(document, dict):
        raise CommandError(f"error parsing {path}: an item of the list is not an object")
    for key in ("apiVersion", "kind"):
        if not isinstance(document.get(key), str) or not document[key]:
            raise CommandError(f'error validating "{_shown(path)}": error validating data: {key} not set')
    try:
        GroupVersion.parse(document["apiVersion"])
    except ValueError as error:
        reason = f"error validating data: {error}; write VERSION or GROUP/VERSION, as in apps/v1"
        raise CommandError(f'error validating "{_shown(path)}": {reason}') from error
    metadata = document.get("metadata")
    has_name = isinstance(metadata, dict) and (metadata.get("name") or (not named and metadata.get("generateName")))
    if not has_name:
        hint = "; generateName is for create" if isinstance(metadata, dict) and metadata.get("generateName") else ""
        raise CommandError(f'error validating "{_shown(path)}": {document["kind"]}: metadata.name is not set{hint}')
