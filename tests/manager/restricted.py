"""Clusters as a user with few rights sees them: on the embedded server, and on any server with a token of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from pilotage.client.client import Client
from pilotage.cluster import Cluster
from pilotage.cluster.apiserver import EmbeddedAPIServer
from pilotage.meta.models import ObjectMeta
from pilotage.meta.scalars import times
from pilotage.rest import Transport
from pilotage.rest.users import ActingTransport, acting_user
from pilotage.types.rbac.v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject

USER = "system:serviceaccount:shop:operator"


class ActingServer:
    """An embedded API server that checks what one user may do."""

    def __init__(self, user: str) -> None:
        self._inner = EmbeddedAPIServer("memory:", "default", times.system_clock)
        self._user = acting_user(user)
        self.admin: Client

    async def open(self, exits: AsyncExitStack) -> Transport:
        transport = await self._inner.open(exits)
        self.admin = Client(transport)
        return ActingTransport(transport, self._user)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@asynccontextmanager
async def restricted() -> AsyncIterator[tuple[Cluster, Client]]:
    """A cluster of a user without rights, and a client that may do everything."""
    server = ActingServer(USER)
    async with Cluster(server) as cluster:
        yield cluster, server.admin


async def grant(admin: Client, name: str, *rules: PolicyRule, user: str = USER) -> None:
    """Give rights in the whole cluster to a user."""
    await admin.create(ClusterRole(metadata=ObjectMeta(name=name), rules=[*rules]))
    binding = ClusterRoleBinding(
        metadata=ObjectMeta(name=name),
        role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=name),
        subjects=[Subject(kind="User", api_group="rbac.authorization.k8s.io", name=user)],
    )
    await admin.create(binding)
