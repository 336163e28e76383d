"""What `pilotage device serve` runs: a Device API server until it is stopped, with a few lines of output."""

from __future__ import annotations

from pilotage.cli.errors import CommandError
from pilotage.cli.stop import Stop
from pilotage.device.server.serving import DeviceServer, DeviceServerOptions
from pilotage.telemetry.logs import configure_logging


async def serve(options: DeviceServerOptions, *, log_level: str = "info") -> None:
    """Serve until SIGINT or SIGTERM. The line with `listening on` is printed once calls are answered.

    A second signal ends it at once, without the grace period.
    """
    configure_logging(log_level)
    server, place = DeviceServer(options), _place(options)
    _say("Starting server...")
    _say(f"{'socketPath' if place.startswith('/') else 'address'}: {place}")
    with Stop.on_signals() as stop:
        try:
            await _served(server, f"{_title(options)} listening on {place}", stop)
        except OSError as error:
            raise CommandError(f"cannot listen on {place}: {error.strerror or error}") from error


async def _served(server: DeviceServer, line: str, stop: Stop) -> None:
    async with server:
        _say(line)
        await stop.asked.wait()
        _say("\nStopping server...")


def _title(options: DeviceServerOptions) -> str:
    fake = any(provider.name == "fake" for provider in options.providers)
    return "Fake Device API" if fake else "Device API"


def _place(options: DeviceServerOptions) -> str:
    target = options.targets[0]
    return target.path or str(target).removeprefix("dns:///")


def _say(line: str) -> None:
    print(line, flush=True)
