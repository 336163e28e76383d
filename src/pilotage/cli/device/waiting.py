"""`pilotage device wait`: until GPUs have a condition or a value, exist, or are deleted."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from pilotage.cli.device.display import name_of
from pilotage.device.client.clientset import Devices
from pilotage.device.client.config import Config
from pilotage.device.client.gpus import GPUs
from pilotage.device.v1alpha1 import GPU
from pilotage.errors import ConnectionLost, Gone, PilotageError, ServiceUnavailable
from pilotage.kit.commands.wait import condition_of
from pilotage.kit.console.errors import CommandError, UsageError
from pilotage.kit.exits import raise_all
from pilotage.meta import objects
from pilotage.meta.documents import Document

_RETRY_SECONDS = 0.5


async def wait(config: Config, options: argparse.Namespace) -> None:
    """Wait for the condition of the command's options, and print each GPU that meets it. Raises CommandError for those
    that do not in time."""
    if not options.condition:
        raise UsageError("specify --for: condition=NAME[=STATUS], jsonpath='{PATH}'[=VALUE], create or delete")
    waiting = _Waiting(condition_of(options.condition), options.condition.lower(), once=not options.timeout)
    deadline = asyncio.get_running_loop().time() + options.timeout if options.timeout else None
    errors: list[PilotageError] = []
    async with Devices(config) as devices:
        gpus = devices.v1alpha1.gpus
        for name in await _names(gpus, options):
            try:
                async with asyncio.timeout_at(deadline):
                    await waiting.wait(gpus, name)
                print(f"gpu.{GPU.__resource__.gvk.group}/{name} condition met", flush=True)
            except TimeoutError:
                errors.append(CommandError(f"timed out waiting for the condition on gpus/{name}"))
            except PilotageError as error:
                errors.append(error)
    raise_all(errors)


async def _names(gpus: GPUs, options: argparse.Namespace) -> list[str]:
    if options.names and options.selector:
        raise CommandError("names cannot be combined with a selector; give one of them")
    if options.names:
        return [name_of(word) for word in options.names]
    found = [gpu.metadata.name for gpu in await gpus.list(labels=options.selector)]
    if not found and options.condition.lower() != "delete":
        raise CommandError("no matching GPUs found")
    return found


@dataclass(frozen=True, slots=True)
class _Waiting:
    """What is waited for. Without a server that watches, or while it restarts, the GPUs are listed again."""

    holds: Callable[[Document | None], bool]
    awaited: str
    once: bool
    """Whether the condition must be met now."""

    async def wait(self, gpus: GPUs, name: str) -> None:
        """Raises NotFound for a GPU that does not exist, CommandError, and ConnectionLost if no server listens."""
        connected = False
        while True:
            try:
                listed = await gpus.list()  # without selectors, which not every server has
                connected = True
                found = next((gpu for gpu in listed if gpu.metadata.name == name), None)
                if self._is_met(found):
                    return
                if found is None and self.awaited != "create":
                    await gpus.get(name)  # raises NotFound
                if self.once:
                    raise CommandError(f"condition not met for gpus/{name}")
                if await self._watch(gpus, name, listed.resource_version):
                    return
            except ConnectionLost:
                if not connected:
                    raise
            except (Gone, ServiceUnavailable):  # it cannot watch from there, or does not know its GPUs yet
                if self.once:
                    raise
            await asyncio.sleep(_RETRY_SECONDS)

    async def _watch(self, gpus: GPUs, name: str, version: str) -> bool:
        """Whether the condition was met before the stream ended."""
        async with gpus.watch(resource_version=version) as events:
            async for event in events:
                if event.object.metadata.name == name:
                    found = None if event.type == "DELETED" else event.object
                    if self._is_met(found):
                        return True
        return False

    def _is_met(self, gpu: GPU | None) -> bool:
        return self.holds(objects.document_of(gpu) if gpu is not None else None)
