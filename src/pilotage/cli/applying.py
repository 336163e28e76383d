"""The objects of files, and how commands apply them: in order, each once its kind is served."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from pilotage.cli.errors import CommandError
from pilotage.cli.files import SUFFIXES, content_of, files_in
from pilotage.client.client import Client
from pilotage.errors import ApiError, DecodeError, NoMatch
from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.text import yamltext
from pilotage.meta.unstructured import Unstructured

Objects = Sequence[tuple[Path, Document]]
"""Each with its file."""
_SERVED_SECONDS = 10.0
"""How long to wait for a kind whose CRD is among the objects."""


def read_objects(paths: Sequence[Path]) -> list[tuple[Path, Document]]:
    """The objects of YAML files and folders, each with its file. Raises CommandError."""
    return [(file, document) for path in paths for file in _files(path) for document in _documents(file)]


class ObjectApplier:
    """Applies the objects of one command, as their field owner."""

    def __init__(self, client: Client, objects: Objects, *, field_owner: str, namespace: str) -> None:
        """`namespace` is for objects that name none."""
        self._client = client
        self._field_owner = field_owner
        self._namespace = namespace
        self._defines = any(document["kind"] == "CustomResourceDefinition" for _, document in objects)

    async def apply(self, file: Path, document: Document, status: Document | None = None) -> None:
        """Apply an object, and its status if that is a subresource. Raises CommandError with file and object."""
        obj = Unstructured(document)
        try:
            mapping = await self._mapping(obj.gvk)
            if mapping.namespaced and not document["metadata"].get("namespace"):
                document["metadata"]["namespace"] = self._namespace
            await self._client.apply(obj, field_owner=self._field_owner, force=True)
            if status and await self._client.has_subresource(obj.gvk, "status"):
                await self._client.patch_status(obj, {"status": status})
        except (ApiError, NoMatch) as error:
            raise CommandError(f"{file}: cannot apply {obj.kind} {obj.metadata.name}: {error}") from error

    async def _mapping(self, gvk: GroupVersionKind) -> RESTMapping:
        """The mapping of a kind, which may become served in a moment: its CRD may be one of the objects before."""
        try:
            async with asyncio.timeout(_SERVED_SECONDS):
                while True:
                    try:
                        return await self._client.rest_mapper.lookup(gvk)
                    except NoMatch:
                        if not self._defines:
                            raise
                        await asyncio.sleep(0.1)
        except TimeoutError:
            return await self._client.rest_mapper.lookup(gvk)


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    if found := files_in(path):
        return found
    raise CommandError(f"-f {path}: the folder has no {', '.join(SUFFIXES)} file")


def _documents(file: Path) -> list[Document]:
    try:
        documents = yamltext.read_all(content_of(file), aliases=True)
    except DecodeError as error:
        raise CommandError(f"{file}: {error}") from error
    found = [document for document in documents if document is not None]
    for number, document in enumerate(found, 1):
        if not _is_object(document):
            raise CommandError(
                f"{file}: document {number} is not an object: it needs apiVersion, kind and metadata.name"
            )
    return [each for document in found for each in document.get("items", [document])]


def _is_object(document: object) -> bool:
    if not isinstance(document, dict) or not document.get("apiVersion") or not document.get("kind"):
        return False
    if isinstance(document.get("items"), list):
        return all(_is_object(item) for item in document["items"])
    return isinstance(document.get("metadata"), dict) and bool(document["metadata"].get("name"))
