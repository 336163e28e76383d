"""CustomResourceDefinitions in files of a user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pilotage.errors import DecodeError
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.files import content_of, files_in

if TYPE_CHECKING:
    from pilotage.meta.documents import Document

_KIND = "CustomResourceDefinition"
_MOST_BYTES = 64 * 1024 * 1024


def read_definitions(path: Path) -> list[Document]:
    """The CRDs of a file, or of the files in a folder and the folders below it. Other documents are ignored."""
    files = files_in(path, recursive=True) if path.is_dir() else [path]
    return checked([each for file in files for each in _definitions(content_of(file), str(file))], str(path))


def parse_definitions(data: bytes, source: str) -> list[Document]:
    """The CRDs of a text. `source` is its name in errors."""
    return checked(_definitions(data, source), source)


def checked(found: Sequence[Any], source: str) -> list[Document]:
    """The definitions, if there are any and each has the fields that commands need. Raises CommandError."""
    if not found:
        raise CommandError(f"{source} does not contain a {_KIND}")
    for document in found:
        if not _has_versions(document):
            raise CommandError(f"{source} has a {_KIND} without a name, a kind or versions")
    return list(found)


def _definitions(data: bytes, source: str) -> list[Document]:
    from pilotage.meta.text import yamltext
    from pilotage.meta.text.limits import DocumentLimits

    try:
        documents = yamltext.read_all(data, limits=DocumentLimits(_MOST_BYTES), aliases=True)
    except DecodeError as error:
        raise CommandError(f"{source}: {error}") from error
    found = [document for document in documents if isinstance(document, dict)]
    lists = [document["items"] for document in found if isinstance(document.get("items"), list)]
    found += [item for items in lists for item in items if isinstance(item, dict)]
    return [document for document in found if document.get("kind") == _KIND]


def _has_versions(document: Document) -> bool:
    metadata, spec = document.get("metadata"), document.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict) or not isinstance(spec.get("names"), dict):
        return False
    versions = spec.get("versions")
    named = metadata.get("name") and spec.get("group") and spec["names"].get("kind") and spec["names"].get("plural")
    return bool(named and versions and isinstance(versions, list) and all(map(_is_version, versions)))


def _is_version(version: Any) -> bool:
    """Whether it has a name of a version, which may become the name of a file."""
    from pilotage.meta.validation.names import dns_1035_label

    name = version.get("name") if isinstance(version, dict) else None
    return isinstance(name, str) and not dns_1035_label(name)
