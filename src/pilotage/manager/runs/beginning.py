"""The objects that the controllers of a manager begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from pilotage.cache.cache import Cache
from pilotage.errors import InvalidDefinition
from pilotage.manager.runnables import GroupMember, ReconcilingRunnable
from pilotage.meta.forms import Kind, gvk_of
from pilotage.meta.kinds import GroupKind
from pilotage.meta.values import Value

if TYPE_CHECKING:
    from pilotage.client.client import Client
    from pilotage.manager.options import ManagerOptions
    from pilotage.manager.runs.checkpoint import Checkpoint


class OneObject(Value, frozen=True):
    """An object that a run is for."""

    kind: GroupKind
    name: str
    namespace: str


@dataclass(slots=True)
class Beginning:
    """By default all objects; with a `checkpoint`, what changed or is due since the last run; or `only` these."""

    clock: Callable[[], datetime]
    checkpoint: Checkpoint | None = None
    only: list[OneObject] = field(default_factory=list)
    caches: dict[Cache, str] = field(default_factory=dict)
    """The names of further clusters, by their caches."""

    @property
    def is_partial(self) -> bool:
        return self.checkpoint is not None or bool(self.only)

    async def open(self, client: Client, options: ManagerOptions) -> None:
        """Read the checkpoint, if the options have one."""
        if options.checkpoint:
            from pilotage.manager.runs.checkpoint import open_checkpoint

            self.checkpoint = await open_checkpoint(client, options)

    def mark_idle(self) -> None:
        if self.checkpoint is not None:
            self.checkpoint.mark_idle()

    async def save(self) -> None:
        if self.checkpoint is not None:
            await self.checkpoint.save()

    def begin_with(self, kind: Kind, name: str, namespace: str, running: Iterable[ReconcilingRunnable]) -> None:
        """Begin with an object. Controllers that run already get a request for it."""
        self.only.append(OneObject(gvk_of(kind).group_kind, name, namespace))
        for controller in running:
            controller.reconcile_object(name, namespace)

    def name_of(self, cache: Cache) -> str:
        """A prefix that distinguishes the kinds of further clusters."""
        return f"{self.caches[cache]}: " if cache in self.caches else ""


def controllers_of(kind: Kind, entries: Iterable[GroupMember]) -> list[ReconcilingRunnable]:
    """The controllers with `for_(kind)`. Raises InvalidDefinition if there is none."""
    wanted = gvk_of(kind).group_kind
    controllers = [entry.hooks.controller for entry in entries if entry.hooks.controller is not None]
    kinds = {one: one.kind.group_kind for one in controllers if one.kind is not None}
    found = [one for one, own in kinds.items() if own == wanted]
    if not found:
        others = ", ".join(sorted(map(str, kinds.values()))) or "none"
        raise InvalidDefinition(f"no controller of this manager is for_({wanted}); there are controllers for: {others}")
    return found
