"""percona-xtradb-cluster-operator, K8SPXC-896: the Secret for TLS inside of the cluster is missing.

The operator makes two Secrets if the first of them does not exist. If it is killed between the two, it finds the first
one when it starts again, and never makes the second one; the cluster runs without TLS inside, and nothing reports it.
"""

from __future__ import annotations

import secrets

import pilotage as pt
from pilotage.types.core.v1 import Secret
from tests.chaos.hall import kit


class XtraDBSpec(pt.Model):
    size: int = 3


@pt.resource(group="percona.pilotage.dev", version="v1")
class XtraDBCluster(pt.Resource):
    spec: XtraDBSpec


class Broken:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        cluster = await self.client.get(XtraDBCluster, request)
        if await self.client.find(Secret, f"{request.name}-ssl", namespace=request.namespace) is None:
            await self.client.create(certificate(cluster, "ssl"))
            await self.client.create(certificate(cluster, "ssl-internal"))


class Fixed(Broken):
    """It looks for each of them."""

    async def reconcile(self, request: pt.Request) -> None:
        cluster = await self.client.get(XtraDBCluster, request)
        for name in ("ssl", "ssl-internal"):
            if await self.client.find(Secret, f"{request.name}-{name}", namespace=request.namespace) is None:
                await self.client.create(certificate(cluster, name))


def certificate(cluster: XtraDBCluster, name: str) -> Secret:
    made = Secret(metadata=kit.meta(f"{cluster.metadata.name}-{name}"), string_data={"tls.key": secrets.token_hex(16)})
    pt.set_controller_reference(cluster, made)
    return made


def setup_of(reconciler: type[Broken]) -> kit.Setup:
    async def setup(manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(XtraDBCluster).owns(Secret).complete(reconciler(manager))

    return setup


def scenario(setup: kit.Setup) -> kit.Scenario:
    acts = (
        kit.create(lambda: XtraDBCluster(metadata=kit.meta(), spec=XtraDBSpec())),
        kit.patch(XtraDBCluster, size=5),
    )
    return kit.acted(setup, [XtraDBCluster], acts)


BUG = kit.Bug(
    reference="percona/percona-xtradb-cluster-operator K8SPXC-896",
    kind="crash",
    broken=setup_of(Broken),
    fixed=setup_of(Fixed),
    scenario=scenario,
    difference="Secret default/main-ssl-internal: missing",
    fault="killed-after",
)
