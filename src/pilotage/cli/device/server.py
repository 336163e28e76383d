"""Runs the Device API server of `pilotage device serve` until it is stopped."""

from __future__ import annotations

from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.kit.console.errors import CommandError
from pilotage.kit.console.signals.stop import Stop
from pilotage.telemetry.logs import configure_logging, logger

_log = logger("pilotage.device.server")
_IN_MEMORY = (
    "Objects are stored in memory. A restart loses the conditions that other providers wrote, labels and annotations: "
    "an agent may uncordon a node whose GPUs are unhealthy. Use --storage sqlite:FILE to keep them"
)


async def serve(options: DeviceServerOptions, *, log_level: str = "info") -> None:
    """Serve until SIGINT or SIGTERM. The line with `listening on` is printed once calls are answered.

    A second signal stops the server at once, without the grace period.
    """
    configure_logging(log_level)
    server, target = DeviceServer(options), options.targets[0]
    address = target.path or str(target).removeprefix("dns:///")
    title = "Fake Device API" if any(provider.name == "fake" for provider in options.providers) else "Device API"
    print(f"Starting server...\n{'socketPath' if target.path else 'address'}: {address}", flush=True)
    with Stop.on_signals() as stop:
        try:
            async with server:
                if options.storage == "memory:":
                    _log.warning(_IN_MEMORY)
                print(f"{title} listening on {address}", flush=True)
                await stop.requested.wait()
                print("\nStopping server...", flush=True)
        except OSError as error:
            raise CommandError(f"cannot listen on {address}: {error.strerror or error}") from error
