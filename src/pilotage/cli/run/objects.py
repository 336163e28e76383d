"""The objects of `-f FILE`: read before the program starts, applied once its webhooks and caches run."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pilotage.cli.errors import CommandError
from pilotage.client.client import Client
from pilotage.errors import ApiError, DecodeError, NoMatch
from pilotage.meta import yamltext
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.unstructured import Unstructured
from pilotage.telemetry.logs import logger

log = logger("pilotage.run")

FIELD_OWNER = "pilotage-run"
STANDARD_INPUT = "-"
SERVED_SECONDS = 10.0
"""How long to wait for a kind whose CRD is among the objects."""
_SUFFIXES = (".yaml", ".yml", ".json")


def read_objects(paths: Sequence[Path]) -> list[tuple[Path, dict[str, Any]]]:
    """The objects of YAML files and folders, each with its file. Raises CommandError."""
    return [(file, document) for path in paths for file in _files(path) for document in _documents(file)]


def watched_files(paths: Sequence[Path]) -> list[Path]:
    """The files and folders of `-f`, and the files in the folders."""
    return [file for path in paths for file in (path, *(path.iterdir() if path.is_dir() else ()))]


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.suffix in _SUFFIXES)
    if not found:
        raise CommandError(f"-f {path}: the folder has no {', '.join(_SUFFIXES)} file")
    return found


def _documents(file: Path) -> list[dict[str, Any]]:
    try:
        content = sys.stdin.buffer.read() if str(file) == STANDARD_INPUT else file.read_bytes()
        documents = yamltext.read_all(content, aliases=True)
    except OSError as error:
        raise CommandError(f"cannot read {file}: {error.strerror}") from error
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


class Objects:
    """A runnable that applies the objects and ends. It starts after webhooks and caches, so that webhooks see them."""

    name = "objects of -f"
    needs_leader_election = False

    def __init__(self, client: Client, objects: Sequence[tuple[Path, dict[str, Any]]], namespace: str) -> None:
        self._client = client
        self._objects = objects
        self._namespace = namespace
        self._left = len(objects)

    def idle(self, horizon: float) -> bool:
        return self._left == 0

    def busy(self, horizon: float) -> Sequence[str]:
        return [f"{self._left} objects of -f are not applied"] if self._left else []

    async def start(self) -> None:
        for file, document in self._objects:
            try:
                await self._apply(document)
            except (ApiError, NoMatch) as error:
                where = f"{document['kind']} {document['metadata']['name']}"
                raise CommandError(f"{file}: cannot apply {where}: {error}") from error
            self._left -= 1

    async def _apply(self, document: dict[str, Any]) -> None:
        obj = Unstructured(document)
        mapping = await self._mapping(obj.gvk)
        if mapping.namespaced and not document["metadata"].get("namespace"):
            document["metadata"]["namespace"] = self._namespace
        await self._client.apply(obj, field_owner=FIELD_OWNER, force=True)
        log.info(f"Applied {obj.kind}", namespace=document["metadata"].get("namespace", ""), name=obj.metadata.name)

    async def _mapping(self, gvk: GroupVersionKind) -> Any:
        """The mapping of a kind, which may become served in a moment: its CRD may be one of the objects before."""
        try:
            async with asyncio.timeout(SERVED_SECONDS):
                while True:
                    try:
                        return await self._client.rest_mapper.lookup(gvk)
                    except NoMatch:
                        if not any(document["kind"] == "CustomResourceDefinition" for _, document in self._objects):
                            raise
                        await asyncio.sleep(0.1)
        except TimeoutError:
            return await self._client.rest_mapper.lookup(gvk)
