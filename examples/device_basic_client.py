"""Lists the GPUs of this node and logs their details.

    pilotage device serve --provider fake &
    python device_basic_client.py

Both read NVIDIA_DEVICE_API_TARGET (default unix:///var/run/nvidia-device-api/device-api.sock). A server of another wire
generation than V6 is named by PILOTAGE_DEVICE_WIRE: v1, v2, v3 or v8.
"""

import asyncio
import sys

import pilotage as pt
from pilotage import device

log = pt.logger("basic-client")


async def main() -> None:
    async with device.connect() as devices:
        gpus = await devices.v1alpha1.gpus.list()
        log.info("discovered GPUs", count=len(gpus), target=str(devices.target))
        if gpus:
            first = await devices.v1alpha1.gpus.get(gpus[0].metadata.name)
            log.info("details", name=first.metadata.name, uuid=first.spec.uuid)
        for gpu in gpus:
            ready = pt.is_status_condition_true(gpu.status.conditions, "Ready")
            log.info("status", name=gpu.metadata.name, uuid=gpu.spec.uuid, status="Ready" if ready else "NotReady")


if __name__ == "__main__":
    pt.configure_logging(stream=sys.stdout)
    try:
        asyncio.run(main())
    except pt.PilotageError as error:
        log.error("failed to read the GPUs", error=error)
        sys.exit(1)
