"""The GPUs of one provider in the Device API: registers, updates and removes them.

A label has the name of the provider that created a GPU; a provider removes only its own GPUs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pilotage.client.client import Client
from pilotage.client.conflicts import retry_on_conflict
from pilotage.device.providers.actions import Vocabulary, spelled
from pilotage.device.providers.conditions import ConditionState, Health
from pilotage.device.v1alpha1 import GPU, GPUSpec, GPUStatus
from pilotage.errors import AlreadyExists, NotFound
from pilotage.meta.models import Condition, ObjectMeta
from pilotage.meta.scalars import times

PROVIDER_LABEL = "pilotage.dev/provider"

_Written = tuple[tuple[ConditionState, ...], Health]


class Inventory:
    """Writes a provider's GPUs, if they differ from the stored ones."""

    def __init__(
        self,
        client: Client,
        provider: str,
        *,
        vocabulary: Vocabulary = Vocabulary.ENUM,
        clock: times.Clock = times.system_clock,
    ) -> None:
        self._client = client
        self._provider = provider
        self._vocabulary = vocabulary
        self._clock = clock
        self._written: dict[str, _Written] = {}
        """By name: the stored conditions after the last write, and those that were sent."""

    async def stored(self) -> dict[str, GPU]:
        """All GPUs by name, including the GPUs of other providers."""
        return {gpu.metadata.name: gpu for gpu in await self._client.list(GPU)}

    async def find(self, name: str) -> GPU | None:
        """One GPU; None if it does not exist."""
        return await self._client.find(GPU, name)

    async def apply(self, name: str, uuid: str, health: Health, stored: GPU | None) -> bool:
        """Create or update a GPU, of which `stored` is the current state; True if it was written."""
        if stored is None:
            written = await self._create(name, uuid, health)
        elif stored.spec.uuid == uuid and self._written.get(name) == (states(stored, health), health):
            return False
        else:
            same = stored if stored.spec.uuid == uuid else await self._identify(name, uuid)
            written = await self._write_status(same, health)
        self._written[name] = (states(written, health), health)
        return True

    async def remove(self, gpu: GPU) -> bool:
        """Delete a GPU of this provider, unless it was replaced since it was read; True if it was deleted."""
        self._written.pop(gpu.metadata.name, None)
        if gpu.metadata.labels.get(PROVIDER_LABEL) != self._provider:
            return False
        try:
            await self._client.delete(gpu, uid=gpu.metadata.uid)
        except NotFound:
            return False
        return True

    async def remove_others_than(self, names: Iterable[str], stored: Mapping[str, GPU]) -> Sequence[str]:
        """Delete this provider's GPUs that no longer exist; returns their names."""
        kept = set(names)
        return [name for name, gpu in stored.items() if name not in kept and await self.remove(gpu)]

    async def _create(self, name: str, uuid: str, health: Health) -> GPU:
        gpu = GPU(metadata=ObjectMeta(name=name, labels={PROVIDER_LABEL: self._provider}), spec=GPUSpec(uuid=uuid))
        gpu.status = self._status(gpu, health)
        try:
            created = await self._client.create(gpu)
        except AlreadyExists:  # another writer has created it in the meantime
            return await self._write_status(await self._identify(name, uuid), health)
        # For servers that ignore the status of a create.
        return created if states(created, health) == health.conditions else await self._write_status(created, health)

    async def _identify(self, name: str, uuid: str) -> GPU:
        """Replace a GPU that has another UUID now."""

        async def attempt() -> GPU:
            gpu = await self._client.api_reader.get(GPU, name)
            if gpu.spec.uuid == uuid:
                return gpu
            gpu.spec.uuid = uuid
            return await self._client.update(gpu)

        return await retry_on_conflict(attempt)

    async def _write_status(self, gpu: GPU, health: Health) -> GPU:
        name = gpu.metadata.name
        latest: GPU | None = gpu

        async def attempt() -> GPU:
            nonlocal latest
            target = latest if latest is not None else await self._client.api_reader.get(GPU, name)
            latest = None  # read it again after a conflict
            target.status = self._status(target, health)
            return await self._client.update_status(target)

        return await retry_on_conflict(attempt)

    def _status(self, gpu: GPU, health: Health) -> GPUStatus:
        """The status with the conditions of this provider only."""
        before = {condition.type: condition for condition in gpu.status.conditions}
        now = times.now(self._clock)
        conditions = [_condition(state, before.get(state.type), now) for state in health.conditions]
        return GPUStatus(conditions=conditions, recommended_action=spelled(health.action, self._vocabulary))


def states(gpu: GPU, health: Health) -> tuple[ConditionState, ...]:
    """The stored conditions of the types in `health`."""
    types = {state.type for state in health.conditions}
    return tuple(
        ConditionState(condition.type, condition.status, condition.reason, condition.message)
        for condition in gpu.status.conditions
        if condition.type in types
    )


def _condition(state: ConditionState, before: Condition | None, now: times.Time) -> Condition:
    unchanged = before is not None and before.status == state.status
    return Condition(
        type=state.type,
        status=state.status,
        reason=state.reason,
        message=state.message,
        last_transition_time=before.last_transition_time if before is not None and unchanged else now,
    )
