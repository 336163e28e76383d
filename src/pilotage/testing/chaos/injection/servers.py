"""The API server as one life of the program has it: with webhooks of its own."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, cast

from pilotage.cluster.apiserver import EmbeddedAPIServer, SharedAPIServer
from pilotage.cluster.cluster import Cluster
from pilotage.cluster.writes import WriteTracker
from pilotage.server.webhooks.local import LocalWebhook, LocalWebhooks

if TYPE_CHECKING:
    from pilotage.rest import Transport
    from pilotage.server.registry import Registry
    from pilotage.testing.chaos.lives import Life


def cluster_of(life: Life, cluster: Cluster) -> Cluster:
    """A cluster for one life, on the server of another one. A process knows its own writes alone; the conversions of
    its webhooks are in the CRDs that the test installs."""
    found = Cluster(_LifeServer(cast("EmbeddedAPIServer", cluster._server), life), cluster.scheme, cluster.clock)
    found.writes = WriteTracker()
    found.conversions = cluster.conversions
    return found


class _LifeServer(SharedAPIServer):
    def __init__(self, opened: EmbeddedAPIServer, life: Life) -> None:
        super().__init__(opened)
        self._life = life

    async def open(self, exits: AsyncExitStack) -> Transport:
        transport = await super().open(exits)
        webhooks = _LifeWebhooks(self.registry.local_webhooks, self._life)
        self.registry = cast("Registry", _LifeRegistry(self.registry, webhooks))
        return transport


class _LifeRegistry:
    """A registry with the webhooks of one life."""

    def __init__(self, registry: Registry, webhooks: LocalWebhooks) -> None:
        self._registry = registry
        self.local_webhooks = webhooks

    def __getattr__(self, name: str) -> Any:
        return getattr(self._registry, name)


class _LifeWebhooks(LocalWebhooks):
    """The webhooks of one life. They take the place of those of the life before, which answer until then, as another
    replica would."""

    def __init__(self, shared: LocalWebhooks, life: Life) -> None:
        super().__init__()
        self._shared = shared
        self._life = life

    def add(self, url: str, handler: LocalWebhook) -> None:
        super().add(url, handler)
        self._shared.remove(url)
        self._shared.add(url, handler)

    def remove(self, url: str) -> None:
        own = self.get(url)
        super().remove(url)
        if self._shared.get(url) is own and not self._life.killed.is_set():
            self._shared.remove(url)
