"""The wire protocol of the Device API: requests and responses as protobuf messages of each generation. No I/O.

Objects are Kubernetes JSON in the interface and messages on the wire. Protobuf is imported when a message is first
encoded or decoded; MissingExtra is raised if `pilotage[device]` is not installed.
"""

from pilotage.device.wire.client import (
    EncodedCall,
    decode_event,
    decode_page,
    decode_response,
    encode_request,
    shaped,
)
from pilotage.device.wire.descriptors import DescribedFile, Descriptors, descriptors
from pilotage.device.wire.generation import (
    KIND,
    PACKAGES,
    RESOURCE,
    SERVICE,
    STREAMS,
    Generation,
    method_path,
)
from pilotage.device.wire.options import (
    BOOKMARK_SECONDS,
    KNOWS_LABELS,
    PROVIDER_ID,
    STORAGE,
    UNDERSTOOD,
    UNDERSTOOD_OPTIONS,
    WARNING,
    page_metadata,
    unspoken,
    with_page_metadata,
)
from pilotage.device.wire.providerservice import (
    Acknowledged,
    Heartbeat,
    Registered,
    RegisterGPU,
    Unregistered,
    UnregisterGPU,
    Updated,
    UpdateGPUCondition,
    UpdateGPUStatus,
    provider_path,
)
from pilotage.device.wire.server import decode_request, encode_event, encode_page, encode_response

__all__ = [
    "BOOKMARK_SECONDS",
    "KIND",
    "KNOWS_LABELS",
    "PACKAGES",
    "PROVIDER_ID",
    "RESOURCE",
    "SERVICE",
    "STORAGE",
    "STREAMS",
    "UNDERSTOOD",
    "UNDERSTOOD_OPTIONS",
    "WARNING",
    "Acknowledged",
    "DescribedFile",
    "Descriptors",
    "EncodedCall",
    "Generation",
    "Heartbeat",
    "RegisterGPU",
    "Registered",
    "UnregisterGPU",
    "Unregistered",
    "UpdateGPUCondition",
    "UpdateGPUStatus",
    "Updated",
    "decode_event",
    "decode_page",
    "decode_request",
    "decode_response",
    "descriptors",
    "encode_event",
    "encode_page",
    "encode_request",
    "encode_response",
    "method_path",
    "page_metadata",
    "provider_path",
    "shaped",
    "unspoken",
    "with_page_metadata",
]
