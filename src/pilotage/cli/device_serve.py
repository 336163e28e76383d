"""What `pilotage device serve` runs: a Device API server until somebody asks it to stop, told in a few lines."""

from __future__ import annotations

import asyncio
import signal

from pilotage.cli.failure import CommandError
from pilotage.device.server.serving import DeviceServer, DeviceServerOptions
from pilotage.manager.signals import handled
from pilotage.telemetry.logs import configure_logging


async def serve(options: DeviceServerOptions, *, log_level: str = "info") -> None:
    """Serve until SIGINT or SIGTERM. The line with `listening on` is printed once calls are answered.

    A second signal ends it at once, without the grace period.
    """
    configure_logging(log_level)
    server, stop, place = DeviceServer(options), _Stop(), _place(options)
    _say("Starting server...")
    _say(f"{'socketPath' if place.startswith('/') else 'address'}: {place}")
    with handled(stop.received):
        try:
            await _served(server, f"{_title(options)} listening on {place}", stop)
        except OSError as error:
            raise CommandError(f"cannot listen on {place}: {error.strerror or error}") from error
        except asyncio.CancelledError:
            if not stop.hurried:
                raise


async def _served(server: DeviceServer, line: str, stop: _Stop) -> None:
    async with server:
        _say(line)
        await stop.asked.wait()
        _say("\nStopping server...")


class _Stop:
    """What the signals ask for: first an end, then a quick one."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.hurried = False
        self._task = asyncio.current_task()

    def received(self, number: signal.Signals) -> None:
        if self.asked.is_set() and self._task is not None:
            self.hurried = True
            self._task.cancel()
        self.asked.set()


def _title(options: DeviceServerOptions) -> str:
    fake = any(provider.name == "fake" for provider in options.providers)
    return "Fake Device API" if fake else "Device API"


def _place(options: DeviceServerOptions) -> str:
    target = options.targets[0]
    return target.path or str(target).removeprefix("dns:///")


def _say(line: str) -> None:
    print(line, flush=True)
