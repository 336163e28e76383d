"""Conversion webhooks: objects of a custom resource from one version to another.

Code that computes is not asynchronous, and works on plain documents. It runs in steps: each yields the conversions that
the next one needs, and `Conversions.run` calls the webhook for them, once for each version.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar, cast

import msgspec

from pilotage.errors import Cause, InternalError, Status
from pilotage.meta.documents import Document
from pilotage.meta.fields.applying import Needs, Steps, at_once
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.text.gotext import go_type
from pilotage.meta.validation.objectmeta import annotations_causes, labels_causes
from pilotage.server import records
from pilotage.server.offload import offload
from pilotage.server.resources import ResourceInfo
from pilotage.server.webhooks.caller import MAX_ANSWER, CallError, WebhookCaller
from pilotage.server.webhooks.endpoints import DefinitionConversion
from pilotage.storage.interface import Entry

GROUP = "apiextensions.k8s.io"
KIND = "ConversionReview"
TIMEOUT_SECONDS = 30.0
BATCH = 500
"""The maximum number of objects of a list in one review."""
BATCH_BYTES = MAX_ANSWER // 4
"""The maximum bytes of stored objects in one review, unless one object is larger; the answer may be larger."""
_UNCONVERTED = frozenset(
    ("creationTimestamp", "generation", "managedFields", "name", "namespace", "resourceVersion", "selfLink", "uid")
)
"""Metadata that identifies the object or that the server sets: a conversion leaves it as it is."""
_encode_sorted = msgspec.json.Encoder(order="sorted").encode
R = TypeVar("R")


class _Problem(Exception):
    """What is wrong with an answer. The message begins after the kind that was converted."""


class Converter:
    """Calls the conversion webhooks of custom resource definitions."""

    def __init__(self, caller: WebhookCaller, uid: Callable[[], str]) -> None:
        self._caller = caller
        self._uid = uid

    async def as_read(self, entry: Entry, info: ResourceInfo, revision: int = 0) -> bytes:
        """As `records.view`."""
        if info.conversion is None:
            return records.as_read(entry, info, revision)
        return records.as_read((await self.entries([entry], info))[0], info, revision)

    async def entries(self, entries: Sequence[Entry], info: ResourceInfo) -> Sequence[Entry]:
        """Entries as if they were stored at the version of `info`: one review for many of them."""
        if info.conversion is None:
            return entries
        others = [index for index, entry in enumerate(entries) if not entry.value.startswith(info.head)]
        result = list(entries)
        for batch in _batches(others, entries):
            documents = [records.at_origin(entries[index].value, info) for index in batch]
            for index, document in zip(batch, await self.convert(documents, info), strict=True):
                entry = entries[index]
                value = records.encode(records.prune(document, info))
                result[index] = Entry(entry.key, value, entry.revision, entry.created)
        return result

    async def convert(self, documents: Sequence[Document], info: ResourceInfo) -> list[Document]:
        """Documents of one resource at the version of `info`, which none of them has. Raises InternalError."""
        conversion = info.conversion
        assert conversion is not None, "only called for resources with a conversion webhook"
        try:
            return await self._convert(conversion, documents, info.gvk)
        except _Problem as problem:
            first = GroupVersionKind.of(documents[0]["apiVersion"], documents[0]["kind"])
            message = f"conversion webhook for {first.api_version}, Kind={first.kind} {problem}"
            raise InternalError(status=Status(500, "", message)) from problem

    async def _convert(
        self, conversion: DefinitionConversion, documents: Sequence[Document], kind: GroupVersionKind
    ) -> list[Document]:
        uid = self._uid()
        request = {"uid": uid, "desiredAPIVersion": kind.api_version, "objects": list(documents)}
        nothing: Document = {"uid": "", "convertedObjects": None, "result": {"metadata": {}}}
        review = {
            "kind": KIND,
            "apiVersion": f"{GROUP}/{conversion.review_version}",
            "request": request,
            "response": nothing,
        }
        try:
            answer = await self._caller.call(conversion.endpoint, review, TIMEOUT_SECONDS)
        except CallError as error:
            raise _Problem(f"failed: {error}") from error
        objects = _objects(answer, conversion.review_version, uid)
        if len(objects) != len(documents):
            raise _Problem(f"returned {len(objects)} objects, expected {len(documents)}")
        pairs = enumerate(zip(documents, objects, strict=True))
        return [_checked(original, found, kind, index) for index, (original, found) in pairs]


class Conversions:
    """The conversions of one request about one resource: the same content is converted to a version once.

    Contents are the same if they differ only in metadata that a webhook must not change.
    """

    def __init__(self, converter: Converter, info: ResourceInfo) -> None:
        self._converter = converter
        self._info = info
        self._known: dict[tuple[str, bytes], Document] = {}

    async def run(self, size: int, steps: Steps[R]) -> R:
        """The result of steps, each of which is computed as `offload` does it for this size."""
        if self._info.conversion is None:
            return await offload(size, at_once, steps)
        while True:
            needs, result = await offload(size, _next, steps)
            if needs is None:
                return cast("R", result)
            await self.fetch(needs)

    async def fetch(self, needs: Needs) -> None:
        """Make conversions, with one call for each version."""
        missing: dict[str, dict[bytes, Document]] = {}
        for document, version in needs:
            key = _content(document)
            if (version, key) not in self._known and not _is_empty(document):
                missing.setdefault(version, {})[key] = document
        for version, documents in missing.items():
            found = await self._converter.convert(list(documents.values()), self._info.versions[version])
            self._known.update(zip(((version, key) for key in documents), found, strict=True))

    def found(self, document: Document, info: ResourceInfo) -> Document:
        """A private document: one that was fetched, with the metadata of the given one."""
        if _is_empty(document):
            return document  # an empty object is one at each version
        result = records.private(self._known[info.gvk.api_version, _content(document)])
        return result | {"metadata": _restored(document.get("metadata") or {}, result["metadata"])}

    async def converted(self, document: Document, info: ResourceInfo) -> Document:
        await self.fetch([(document, info.gvk.api_version)])
        return self.found(document, info)

    async def storable(self, document: Document) -> Document:
        """As `records.storable`."""
        info = self._info
        if not info.converts:
            return records.storable(document, info)
        return records.with_schema_applied(await self.converted(document, info.stored), info.stored)

    async def reread(self, value: bytes, revision: int) -> bytes:
        """As `records.reread`."""
        info = self._info
        if not info.converts:
            return records.reread(value, info, revision)
        document = await self.converted(records.at_origin(value, info), info)
        value = records.encode(records.prune(document, info))
        return records.stamp(value, revision) if revision else value


def _next(steps: Steps[R]) -> tuple[Needs | None, R | None]:
    """The conversions that the next step needs; or none, and the result."""
    try:
        return next(steps), None
    except StopIteration as done:
        return None, done.value


def _is_empty(document: Document) -> bool:
    return document.keys() == {"apiVersion", "kind"}


def _content(document: Document) -> bytes:
    metadata = document.get("metadata") or {}
    kept = {key: value for key, value in metadata.items() if key not in _UNCONVERTED}
    return _encode_sorted(document | {"metadata": kept})


def _objects(answer: Document, version: str, uid: str) -> list[Any]:
    """The converted objects of an answer."""
    response = answer.get("response")
    if version == "v1" and not (answer.get("kind") and answer.get("apiVersion")):
        raise _Problem(f"failed: expected webhook response of {GROUP}/v1, Kind={KIND}, got /, Kind=")
    if not isinstance(response, dict):
        raise _Problem("failed: no response provided")
    if version == "v1" and response.get("uid") != uid:
        raise _Problem(f'failed: expected response.uid="{uid}", got "{response.get("uid") or ""}"')
    result = response.get("result")
    result = result if isinstance(result, dict) else {}
    if result.get("status") != "Success":
        failure = f"response.result.status was '{result.get('status') or ''}', not 'Success'"
        raise _Problem(f"failed: {result.get('message') or failure}")
    objects = response.get("convertedObjects")
    return objects if isinstance(objects, list) else []


def _checked(original: Document, found: Any, kind: GroupVersionKind, index: int) -> Document:
    """A converted object with the metadata of the original, except for labels and annotations."""
    if not isinstance(found, dict):
        raise _Problem(f"returned invalid object at index {index}: it is not an object")
    for name, wanted, got in (
        ("groupVersion", kind.api_version, found.get("apiVersion") or ""),
        ("kind", original["kind"], found.get("kind") or ""),
    ):
        if wanted != got:
            reason = f"invalid {name} (expected {wanted}, received {got})"
            raise _Problem(f"returned invalid object at index {index}: {reason}")
    metadata = found.get("metadata")
    given, before = (metadata if isinstance(metadata, dict) else {}), original.get("metadata") or {}
    for field, words in (("name", "name"), ("namespace", "namespace"), ("uid", "UID")):
        if (before.get(field) or "") != (given.get(field) or ""):
            pair = f"{before.get(field) or ''} != {given.get(field) or ''}"
            raise _Problem(f"returned invalid object: must have the same {words}: {pair}")
    if not isinstance(metadata, dict):
        raise _Problem("returned invalid metadata: missing metadata in converted object")
    return found | {"metadata": _restored(before, metadata)}


def _restored(before: Document, given: Document) -> Document:
    result = dict(before)
    for field, causes_of in (("labels", labels_causes), ("annotations", annotations_causes)):
        texts = given.get(field)
        if texts is None:
            result.pop(field, None)
            continue
        if not isinstance(texts, dict):
            raise _Problem(f"returned invalid metadata: invalid metadata.{field} of type {go_type(texts)}")
        for key, value in texts.items():
            if not isinstance(value, str):
                reason = f"metadata.{field}[{key}] must be a string, but is {go_type(value)} in converted object"
                raise _Problem(f"returned invalid metadata: {reason}")
        if texts != before.get(field) and (causes := causes_of(texts)):
            raise _Problem(f"returned invalid metadata: {_shown(causes)}")
        result[field] = texts
    return result


def _shown(causes: Iterable[Cause]) -> str:
    lines = [f"{cause.field}: {cause.message}" for cause in causes]
    return lines[0] if len(lines) == 1 else f"[{', '.join(lines)}]"


def _batches(indexes: Sequence[int], entries: Sequence[Entry]) -> Iterator[list[int]]:
    """The entries of one review each, by their indexes."""
    batch: list[int] = []
    size = 0
    for index in indexes:
        length = len(entries[index].value)
        if batch and (len(batch) == BATCH or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(index)
        size += length
    if batch:
        yield batch
