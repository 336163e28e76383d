"""Waiting for an object in the cluster: an App needs a Secret that does not exist yet.

    python wait_for_secret.py

The reconciler checks again after five seconds, or at once when the Secret is created, because it is watched.
"""

import asyncio

import pilotage as pt
from pilotage.types.core.v1 import Secret


class AppSpec(pt.Model):
    secret: str


class AppStatus(pt.Model):
    phase: str = "Pending"


@pt.resource(group="examples.pilotage.dev", version="v1", status=True)
class App(pt.Resource):
    spec: AppSpec
    status: AppStatus | None = None


class AppReconciler:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> pt.Result:
        app = await self.client.get(App, request.name, namespace=request.namespace)
        if await self.client.find(Secret, app.spec.secret, namespace=request.namespace) is None:
            pt.logger().info("Waiting for Secret", secret=app.spec.secret)
            await self.client.patch_status(app, {"status": {"phase": "Waiting"}})
            return pt.Result(requeue_after=5)
        await self.client.patch_status(app, {"status": {"phase": "Ready"}})
        return pt.Result()

    def apps_of(self, secret: Secret) -> list[pt.Request]:
        """A label of the Secret has the name of its App."""
        app = secret.metadata.labels.get("app")
        return [pt.Request(app, secret.metadata.namespace)] if app else []

    def setup_with_manager(self, manager: pt.Manager) -> None:
        (pt.ControllerBuilder(manager).for_(App).watches(Secret, pt.enqueue_requests_from(self.apps_of)).complete(self))


async def main() -> None:
    cluster = pt.Cluster.embedded("memory:")
    async with pt.Manager(cluster) as manager:
        await cluster.install(App)
        AppReconciler(manager).setup_with_manager(manager)
        meta = pt.ObjectMeta(name="shop", namespace="default")
        await cluster.client.create(App(metadata=meta, spec=AppSpec(secret="shop-login")))
        await manager.run_until_idle(timeout=10)  # idle: the App waits for its Secret
        labelled = pt.ObjectMeta(name="shop-login", namespace="default", labels={"app": "shop"})
        await cluster.client.create(Secret(metadata=labelled, string_data={"password": "correct horse"}))
        await manager.run_until_idle(timeout=10)
        app = await cluster.client.get(App, "shop", namespace="default")
        print(f"the App is {app.status.phase if app.status else 'unknown'}")


if __name__ == "__main__":
    pt.configure_logging()
    asyncio.run(main())
