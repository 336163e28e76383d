"""Runs the Device API server of `pilotage device serve` until it is stopped."""

from __future__ import annotations

from pilotage.cli.errors import CommandError
from pilotage.cli.signals.stop import Stop
from pilotage.device.server.deviceserver import DeviceServer, DeviceServerOptions
from pilotage.telemetry.logs import configure_logging


async def serve(options: DeviceServerOptions, *, log_level: str = "info") -> None:
    """Serve until SIGINT or SIGTERM. The line with `listening on` is printed once calls are answered.

    A second signal stops the server at once, without the grace period.
    """
    configure_logging(log_level)
    server, address = DeviceServer(options), _address(options)
    _print_line("Starting server...")
    _print_line(f"{'socketPath' if address.startswith('/') else 'address'}: {address}")
    with Stop.on_signals() as stop:
        try:
            await _run(server, f"{_title(options)} listening on {address}", stop)
        except OSError as error:
            raise CommandError(f"cannot listen on {address}: {error.strerror or error}") from error


async def _run(server: DeviceServer, line: str, stop: Stop) -> None:
    async with server:
        _print_line(line)
        await stop.requested.wait()
        _print_line("\nStopping server...")


def _title(options: DeviceServerOptions) -> str:
    fake = any(provider.name == "fake" for provider in options.providers)
    return "Fake Device API" if fake else "Device API"


def _address(options: DeviceServerOptions) -> str:
    target = options.targets[0]
    return target.path or str(target).removeprefix("dns:///")


def _print_line(line: str) -> None:
    print(line, flush=True)
