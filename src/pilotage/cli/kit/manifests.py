"""The objects of files, folders and standard input."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pilotage.cli.errors import CommandError
from pilotage.errors import DecodeError
from pilotage.meta.documents import Document

STANDARD_INPUT = "-"
_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Manifest:
    """An object and the file that it is from."""

    document: Document
    source: str


def read_manifests(paths: Sequence[str], *, recursive: bool = False, named: bool = True) -> list[Manifest]:
    """All objects of the files, in their order. Raises CommandError.

    `named` objects have a name; others may have the prefix of one.
    """
    found = [one for path in paths for file in _files(path, recursive) for one in _objects(file, named)]
    if not found:
        raise CommandError("no objects passed to apply" if named else "no objects passed to create")
    return found


def _files(path: str, recursive: bool) -> list[str]:
    if path == STANDARD_INPUT or not Path(path).is_dir():
        return [path]
    files = Path(path).rglob("*") if recursive else Path(path).iterdir()
    found = sorted(str(file) for file in files if file.suffix in _SUFFIXES and file.is_file())
    if not found:
        raise CommandError(f"error reading [{path}]: recognized file extensions are [{' '.join(sorted(_SUFFIXES))}]")
    return found


def _objects(path: str, named: bool) -> Iterator[Manifest]:
    for document in _documents(path):
        for each in _items(document, path):
            _check(each, path, named)
            yield Manifest(each, _shown(path))


def _shown(path: str) -> str:
    return "STDIN" if path == STANDARD_INPUT else path


def _documents(path: str) -> list[Any]:
    from pilotage.meta import yamltext

    try:
        content = sys.stdin.buffer.read() if path == STANDARD_INPUT else Path(path).read_bytes()
    except FileNotFoundError:
        raise CommandError(f'the path "{path}" does not exist') from None
    except OSError as error:
        raise CommandError(f"cannot read {path}: {error.strerror}") from error
    try:
        return [document for document in yamltext.read_all(content, aliases=True) if document is not None]
    except DecodeError as error:
        raise CommandError(f"error parsing {path}: {error}") from error


def _items(document: Any, path: str) -> list[Any]:
    if not isinstance(document, dict):
        raise CommandError(f"error parsing {path}: it is not an object, with apiVersion, kind and metadata")
    items = document.get("items")
    is_list = isinstance(items, list) and str(document.get("kind") or "").endswith("List")
    return list(items) if is_list else [document]  # type: ignore[arg-type]


def _check(document: Any, path: str, named: bool) -> None:
    if not isinstance(document, dict):
        raise CommandError(f"error parsing {path}: an item of the list is not an object")
    for key in ("apiVersion", "kind"):
        if not isinstance(document.get(key), str) or not document[key]:
            raise CommandError(f'error validating "{_shown(path)}": error validating data: {key} not set')
    metadata = document.get("metadata")
    has_name = isinstance(metadata, dict) and (metadata.get("name") or (not named and metadata.get("generateName")))
    if not has_name:
        hint = "; generateName is for create" if isinstance(metadata, dict) and metadata.get("generateName") else ""
        raise CommandError(f'error validating "{_shown(path)}": {document["kind"]}: metadata.name is not set{hint}')
