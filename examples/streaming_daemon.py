"""A daemon that watches the GPUs of this node: a connection with its own logger and interceptors, and one long watch.

    pilotage device serve --provider fake &
    python streaming_daemon.py

Both read NVIDIA_DEVICE_API_TARGET (default unix:///var/run/nvidia-device-api/device-api.sock). A server of another wire
generation than V6 is named by PILOTAGE_DEVICE_WIRE: v1, v2, v3 or v8. SIGINT and SIGTERM end it. The watch is one
stream, to show how it ends; `gpus.follow()` continues after a restart of the server.
"""

import asyncio
import signal
import sys

import pilotage as pt
from pilotage import device

log = pt.logger("streaming-daemon")


async def trace(call: device.Invocation, proceed: device.Invoke) -> device.Reply:
    """Send a request id with every call."""
    return await proceed(call.with_metadata({"x-request-id": "nv-trace-123"}))


async def log_start(call: device.Invocation, proceed: device.Open) -> device.Incoming:
    """Log each opened stream."""
    log.info("starting long-lived watch stream", method=call.method)
    return await proceed(call)


async def follow() -> None:
    async with device.connect(logger=log, unary_interceptors=[trace], stream_interceptors=[log_start]) as devices:
        gpus = devices.v1alpha1.gpus
        log.info("retrieved GPU list", count=len(await gpus.list()))
        async with gpus.watch() as events:
            log.info("watch stream established, waiting for events...")
            async for event in events:
                gpu = event.object
                ready = pt.is_status_condition_true(gpu.status.conditions, "Ready")
                status = "Ready" if ready else "NotReady"
                name, uuid = gpu.metadata.name, gpu.spec.uuid
                log.info("gpu status changed", event=event.type, name=name, uuid=uuid, status=status)
        log.info("watch channel closed by server")


async def main() -> None:
    following = asyncio.ensure_future(follow())
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, following.cancel)
    try:
        await following
    except asyncio.CancelledError:
        log.info("received shutdown signal, stopping watch")
    except pt.ApiError as error:
        log.error("received watch error from server", reason=error.status.reason, message=error.status.message)
        sys.exit(1)
    except pt.PilotageError as error:
        log.error("lost the server", error=error)
        sys.exit(1)


if __name__ == "__main__":
    pt.configure_logging(stream=sys.stdout)
    asyncio.run(main())
