"""The strategy of GPUs: their differences from other custom resources."""

from __future__ import annotations

from msgspec.structs import replace

from pilotage.device.server.storageversion import public
from pilotage.device.wire import documents
from pilotage.device.wire.generation import RESOURCE
from pilotage.errors import DecodeError
from pilotage.meta.documents import Document
from pilotage.rest.request import PatchType
from pilotage.server import soundness
from pilotage.server.definitions import collection_of
from pilotage.server.kinds import KindSet
from pilotage.server.strategies.custom import CUSTOM, CustomResourceStrategy
from pilotage.server.strategies.strategy import KindStrategy
from pilotage.storage.interface import Entry

_GPUS = f"/{collection_of(RESOURCE.group, RESOURCE.resource)}"
_CONDITIONS: Document = {
    "type": "array",
    "items": {"type": "object", "properties": {}},
    "x-kubernetes-patch-merge-key": "type",
    "x-kubernetes-patch-strategy": "merge",
}


class GPUStrategy(CustomResourceStrategy):
    """Names may be UUIDs in any case, a create may have a status, and patches merge conditions by type."""

    def prepare_for_create(self, document: Document) -> None:
        document["metadata"]["generation"] = 1

    def decorate(self, data: bytes) -> bytes:
        return public(data)


_RULES = replace(
    CUSTOM.rules,
    name_form="path",
    unconditional_update=True,
    patch_types=(PatchType.JSON, PatchType.MERGE, PatchType.STRATEGIC),
    merge_schema={"properties": {"status": {"properties": {"conditions": _CONDITIONS}}}},
    uid_precondition=False,  # admission refuses another uid: NVIDIA's clients of V8 expect 400 or 422, not 409
    managed_fields=False,  # the Device API has no field for them
    decorated=True,
)
KINDS = KindSet(custom={RESOURCE.group_resource: KindStrategy(_RULES, GPUStrategy)})
"""The kinds of the Device API: GPUs, which a definition declares, with rules of their own."""


def stored_problem(entry: Entry, kinds: KindSet) -> str:
    """What is wrong with a stored object; a GPU must have a form on the wire."""
    found = soundness.problem(entry, kinds)
    if not found and _GPUS in entry.key:
        try:
            documents.read_stored(entry.value)
        except DecodeError as error:
            return str(error)
    return found
