"""The kinds of the group storage.k8s.io."""

from __future__ import annotations

from collections.abc import Mapping

from pilotage.server.strategies.deferred import deferred
from pilotage.server.strategies.strategy import Strategy

STRATEGIES: Mapping[str, Strategy] = {
    "csidrivers": deferred("storage.csi:CSIDriverStrategy", unconditional_update=False),
    "csinodes": deferred("storage.csi:CSINodeStrategy", unconditional_update=False),
    "csistoragecapacities": deferred("storage.classes:CSIStorageCapacityStrategy", unconditional_update=False),
    "storageclasses": deferred("storage.classes:StorageClassStrategy"),
    "volumeattachments": deferred("storage.volumeattachments:VolumeAttachmentStrategy", unconditional_update=False),
    "volumeattributesclasses": deferred("storage.classes:VolumeAttributesClassStrategy"),
}
