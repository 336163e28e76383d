"""A controller that watches several clusters: the example `multiclustersync` of controller-runtime.

    python several_clusters.py memory:                    two embedded clusters
    python several_clusters.py cluster                    one real cluster is source and target
    python several_clusters.py cluster west east          the targets are contexts of the kubeconfig

The Secrets of one namespace of the manager's cluster are copied to a namespace of each target. A copy that is changed
or deleted there is restored.
"""

import asyncio
import sys
from base64 import b64decode
from collections.abc import Callable

import pilotage as pt
from pilotage.types.core.v1 import Namespace, Secret

SOURCE = "secrets-source"
TARGET = "secrets-target"


class SecretSync:
    """A request is the name of a Secret: it is compared in all targets."""

    def __init__(self, source: pt.Client, targets: dict[str, pt.Client]) -> None:
        self.source = source
        self.targets = targets

    async def reconcile(self, request: pt.Request) -> None:
        secret = await self.source.find(Secret, request)
        for name, client in self.targets.items():
            meta = pt.ObjectMeta(name=request.name, namespace=TARGET)
            if secret is not None:
                outcome = await pt.create_or_patch(client, Secret(metadata=meta, data=secret.data))
                pt.logger().debug("synced", cluster=name, outcome=outcome)
            elif await client.find(Secret, meta) is not None:
                await client.delete(Secret, meta)


async def setup_with_manager(manager: pt.Manager, clusters: dict[str, pt.Cluster]) -> None:
    """Watch the Secrets of the manager's own cluster and of each target."""
    members = {name: await manager.add_cluster(cluster, name=name) for name, cluster in clusters.items()}
    builder = pt.ControllerBuilder(manager).named("secret-sync")
    builder.watches(Secret, pt.enqueue_requests_from(secret_in(SOURCE)))
    for member in members.values():
        builder.watches(Secret, pt.enqueue_requests_from(secret_in(TARGET)), cluster=member)
    builder.complete(SecretSync(manager.client, {name: member.client for name, member in members.items()}))


def secret_in(namespace: str) -> Callable[[Secret], list[pt.Request]]:
    """A function from a Secret of this namespace to its request."""

    def request_of(secret: Secret) -> list[pt.Request]:
        return [pt.Request(secret.metadata.name, SOURCE)] if secret.metadata.namespace == namespace else []

    return request_of


def password(secret: Secret) -> str:
    return b64decode(secret.data["password"]).decode()


async def main(environment: str, contexts: list[str]) -> None:
    if environment == "cluster":
        cluster = pt.Cluster.connect()
        targets = {name: pt.Cluster.connect(context=name) for name in contexts} or {"self": pt.Cluster.connect()}
    else:
        cluster, targets = pt.Cluster.embedded(environment), {"target": pt.Cluster.embedded(environment)}
    async with pt.Manager(cluster) as manager:
        await setup_with_manager(manager, targets)
        await pt.create_or_patch(cluster.client, Namespace(metadata=pt.ObjectMeta(name=SOURCE)))
        for target in targets.values():
            await pt.create_or_patch(target.client, Namespace(metadata=pt.ObjectMeta(name=TARGET)))
        source = cluster.client.with_namespace(SOURCE)
        copies = next(iter(targets.values())).client.with_namespace(TARGET)

        secret = await source.create(
            Secret(metadata=pt.ObjectMeta(name="login"), string_data={"password": "correct horse"})
        )
        await manager.run_until_idle(timeout=60)
        print("copied:", password(await copies.get(Secret, "login")))
        await source.patch(secret, {"stringData": {"password": "battery staple"}})
        await manager.run_until_idle(timeout=60)
        print("changed:", password(await copies.get(Secret, "login")))
        await copies.delete(Secret, "login")
        await manager.run_until_idle(timeout=60)
        print("restored:", password(await copies.get(Secret, "login")))
        await source.delete(secret)
        await manager.run_until_idle(timeout=60)
        print("deleted" if await copies.find(Secret, "login") is None else "still there")


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:", sys.argv[2:]))
    except pt.PilotageError as error:
        raise SystemExit(f"several_clusters: {error}") from None
