"""k8ssandra/cass-operator, K8SSAND-1023: the Pods of a datacenter never run.

The operator creates a Secret with a certificate authority and, from it, the Secret with the keystore that the Pods
mount. The keystore is made only when the authority is: if the operator is killed in between, the Pods wait for ever.
"""

from __future__ import annotations

import hashlib
import secrets

import pilotage as pt
from pilotage.types.core.v1 import Secret
from tests.chaos.hall import kit


class DatacenterSpec(pt.Model):
    size: int = 3


@pt.resource(group="k8ssandra.pilotage.dev", version="v1")
class CassandraDatacenter(pt.Resource):
    spec: DatacenterSpec


class Broken:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        datacenter = await self.client.get(CassandraDatacenter, request)
        if await self.find(request, "ca-keystore") is None:
            authority = await self.add(datacenter, "ca-keystore", secrets.token_hex(16))
            await self.add(datacenter, "keystore", keystore_of(authority))

    async def find(self, request: pt.Request, name: str) -> Secret | None:
        return await self.client.find(Secret, f"{request.name}-{name}", namespace=request.namespace)

    async def add(self, datacenter: CassandraDatacenter, name: str, content: str) -> Secret:
        made = Secret(metadata=kit.meta(f"{datacenter.metadata.name}-{name}"), string_data={"content": content})
        pt.set_controller_reference(datacenter, made)
        return await self.client.create(made)


class Fixed(Broken):
    """It makes the keystore from the authority that is stored."""

    async def reconcile(self, request: pt.Request) -> None:
        datacenter = await self.client.get(CassandraDatacenter, request)
        authority = await self.find(request, "ca-keystore")
        if authority is None:
            authority = await self.add(datacenter, "ca-keystore", secrets.token_hex(16))
        if await self.find(request, "keystore") is None:
            await self.add(datacenter, "keystore", keystore_of(authority))


def keystore_of(authority: Secret) -> str:
    return hashlib.sha256(authority.data["content"].encode()).hexdigest()


def setup_of(reconciler: type[Broken]) -> kit.Setup:
    async def setup(manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(CassandraDatacenter).owns(Secret).complete(reconciler(manager))

    return setup


def scenario(setup: kit.Setup) -> kit.Scenario:
    acts = (
        kit.create(lambda: CassandraDatacenter(metadata=kit.meta(), spec=DatacenterSpec())),
        kit.patch(CassandraDatacenter, size=5),
    )
    return kit.acted(setup, [CassandraDatacenter], acts)


BUG = kit.Bug(
    reference="k8ssandra/cass-operator K8SSAND-1023",
    kind="crash",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=scenario,
    difference="Secret default/main-keystore: missing",
    fault="killed-after",
)
