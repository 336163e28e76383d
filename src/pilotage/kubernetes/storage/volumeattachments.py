"""VolumeAttachments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pilotage.errors import Cause
from pilotage.kubernetes.core.volumes.volumespecs import validate_inline_volume_spec
from pilotage.meta.causes import forbidden, invalid, required, too_long
from pilotage.meta.documents import Document, same
from pilotage.server.strategies.checks import fields, texts
from pilotage.server.strategies.strategy import Strategy

_ONE_OF = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
_MAX_METADATA = 256 * 1024
_MAX_MESSAGE = 1024


class VolumeAttachmentStrategy(Strategy):
    """Attachments are immutable, but for their status."""

    def validate(self, document: Document) -> Iterator[Cause]:
        spec, status = document["spec"], document.get("status") or {}
        yield from texts.driver_name(spec.get("attacher") or "", "spec.attacher")
        source = spec.get("source") or {}
        name, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
        if name is None and inline is None:
            yield required("spec.source", _ONE_OF)
        elif name is not None and inline is not None:
            yield forbidden("spec.source", _ONE_OF)
        elif name == "":
            yield required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
        elif inline is not None:
            yield from validate_inline_volume_spec(inline, "spec.source.inlineVolumeSpec")
        yield from texts.text(spec.get("nodeName") or "", "spec.nodeName")
        yield from _validate_status(status)
        yield from fields.given(name, "spec.source.persistentVolumeName", texts.text)

    def validate_changes(self, document: Document, old: Document) -> Iterator[Cause]:
        if not same(document["spec"], old["spec"]):
            yield invalid("spec", document["spec"], fields.IMMUTABLE, whole=True)

    def validate_status_update(self, document: Document, old: Document) -> Iterable[Cause]:
        return self.validate_update(document, old)


def _validate_status(status: Document) -> Iterator[Cause]:
    metadata = status.get("attachmentMetadata") or {}
    size = sum(
        len(key.encode(errors="replace")) + len(value.encode(errors="replace")) for key, value in metadata.items()
    )
    if size > _MAX_METADATA:
        yield too_long("status.attachmentMetadata", _MAX_METADATA)
    for key in ("attachError", "detachError"):
        error = status.get(key) or {}
        if len((error.get("message") or "").encode(errors="replace")) > _MAX_MESSAGE:
            yield too_long(f"status.{key}.message", _MAX_METADATA)  # the limit that the real server reports
        code = error.get("errorCode")
        if code is not None and code < 0:
            yield invalid(f"status.{key}.errorCode", code, "must be between 0 and 2147483647, inclusive")
