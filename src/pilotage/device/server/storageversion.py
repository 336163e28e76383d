"""GPUs in their stored form: with the provider of each condition, which is not part of the API.

A stored condition has `provider`, and a stored status has `providers`: what each of them recommends.
"""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from pilotage.device.v1alpha1 import GPU, GROUP, GPUSpec
from pilotage.meta.markers import ListType, MaxItems, MaxLength, MaxProperties, MinLength
from pilotage.meta.models import Model, Resource, resource
from pilotage.schema.generate.crd import crd

MAX_CONDITIONS = 32
MAX_PROVIDERS = 32
"""Of one GPU."""
DEFINITION = f"gpus.{GROUP}"
_PRIVATE = b'"provider'
_KEPT_BYTES = 4096
"""Larger GPUs are not cached, so that the cache stays small."""
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class StoredCondition(Model):
    """A condition and its provider."""

    type: Annotated[str, MinLength(1), MaxLength(316)]
    status: Literal["True", "False", "Unknown"]
    reason: Annotated[str, MaxLength(1024)] = ""
    """Empty if the provider sent none: on the wire, empty and absent are the same."""
    message: Annotated[str, MaxLength(32768)] = ""
    last_transition_time: datetime | None = None
    observed_generation: int | None = None
    provider: Annotated[str, MaxLength(128)] = ""


class ProviderRecord(Model):
    """The state of one provider for one GPU."""

    recommended_action: Annotated[str, MaxLength(1024)] | None = None


class StoredStatus(Model):
    """A status with the provider of each part."""

    conditions: Annotated[list[StoredCondition], ListType("map", "type"), MaxItems(MAX_CONDITIONS)] = []
    recommended_action: Annotated[str, MaxLength(1024)] | None = None
    providers: Annotated[dict[str, ProviderRecord], MaxProperties(MAX_PROVIDERS)] = {}


@resource(
    group=GROUP,
    version="v1alpha1",
    kind="GPU",
    plural="gpus",
    scope="Cluster",
    status=True,
    selectable_fields=[".spec.uuid"],
    columns=GPU.__resource__.columns,
)
class StoredGPU(Resource):
    """A GPU of this node in its stored form."""

    spec: GPUSpec
    status: StoredStatus = StoredStatus()


def definition() -> dict[str, Any]:
    """The CustomResourceDefinition of the stored form."""
    return crd(StoredGPU)


def public(data: bytes | memoryview) -> bytes:
    """An object in its public form: without the fields of the stored form."""
    data = bytes(data)
    if _PRIVATE not in data:
        return data
    return _kept_cleaned(data) if len(data) <= _KEPT_BYTES else _cleaned(data)


def _cleaned(data: bytes) -> bytes:
    document: dict[str, Any] = _decode(data)
    status = document.get("status")
    if isinstance(status, dict):
        document["status"] = public_status(status)
    return _encode(document)


_kept_cleaned = lru_cache(maxsize=2048)(_cleaned)
"""Most GPUs do not change between two lists."""


def public_status(status: dict[str, Any]) -> dict[str, Any]:
    """A status without the fields of the stored form."""
    result = {key: value for key, value in status.items() if key != "providers"}
    if "conditions" in result:
        result["conditions"] = [
            {key: value for key, value in condition.items() if key != "provider"} for condition in result["conditions"]
        ]
    return result
