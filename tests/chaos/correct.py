"""Correct reconcilers, each with another way to work: chaos must report nothing about them."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap, Secret
from tests.chaos.hall import kit

FINALIZER = "correct.pilotage.dev/claim"
STEPS = ("Pending", "Creating", "Ready")


class ShopSpec(pt.Model):
    size: int = 1


class ShopStatus(pt.Model):
    phase: str = ""
    size: int = 0
    observed_generation: int = 0


@pt.resource(group="correct.pilotage.dev", version="v1", status=True)
class Shop(pt.Resource):
    spec: ShopSpec
    status: ShopStatus | None = None


class Reconciler:
    """Has what the others need."""

    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.live = manager.api_reader

    async def reconcile(self, request: pt.Request) -> None:
        if (shop := await self.client.find(Shop, request)) is not None:
            await self.ensure(shop)

    async def ensure(self, shop: Shop) -> None:
        raise NotImplementedError

    def config(self, shop: Shop, suffix: str = "", **data: str) -> ConfigMap:
        config = ConfigMap(metadata=kit.meta(f"{shop.metadata.name}{suffix}", shop=shop.metadata.name), data=data)
        pt.set_controller_reference(shop, config)
        return config

    async def configs(self, shop: Shop) -> Sequence[ConfigMap]:
        return await self.client.list(ConfigMap, namespace=kit.NAMESPACE, labels={"shop": shop.metadata.name})


class Applies(Reconciler):
    """It applies what it wants, and the server finds the difference."""

    async def ensure(self, shop: Shop) -> None:
        await self.client.apply(self.config(shop, size=str(shop.spec.size)), field_owner="shops", force=True)


class Patches(Reconciler):
    """It creates or patches, and reports what it has done when it is done."""

    async def ensure(self, shop: Shop) -> None:
        await pt.create_or_patch(self.client, self.config(shop, size=str(shop.spec.size)), owner=shop)
        status = {"size": shop.spec.size, "observedGeneration": shop.metadata.generation}
        await self.client.patch_status(shop, {"status": status})


class FansOut(Reconciler):
    """One object for each number, with a name that follows from it; what is too much is deleted."""

    async def ensure(self, shop: Shop) -> None:
        wanted = {f"{shop.metadata.name}-{number}": f"-{number}" for number in range(shop.spec.size)}
        found = await self.configs(shop)
        for name in wanted.keys() - {one.metadata.name for one in found}:
            await self.client.create(self.config(shop, wanted[name]))
        for one in found:
            if one.metadata.name not in wanted and await self.is_current(shop):
                await self.client.delete(one, uid=one.metadata.uid)

    async def is_current(self, shop: Shop) -> bool:
        """Whether nobody has changed what is wanted meanwhile: what is deleted is lost."""
        now = await self.live.find(Shop, kit.REQUEST)
        return now is not None and now.metadata.resource_version == shop.metadata.resource_version


class GoesBySteps(Reconciler):
    """A state machine in the status: each step is written down before the next one begins."""

    async def ensure(self, shop: Shop) -> None:
        phase = shop.status.phase if shop.status is not None else ""
        if phase == "Creating":
            await pt.create_or_patch(self.client, self.config(shop), owner=shop)
        if phase != STEPS[-1]:
            following = STEPS[STEPS.index(phase) + 1] if phase else STEPS[0]
            shop.status = ShopStatus(phase=following)
            await self.client.update_status(shop)  # a conflict leads to another try


class KeepsPassword(Reconciler):
    """What is generated is stored first, and used only as it is stored, for this shop."""

    async def ensure(self, shop: Shop) -> None:
        secret = await self.client.find(Secret, shop.metadata.name, namespace=kit.NAMESPACE)
        if secret is None:
            secret = Secret(metadata=kit.meta(), string_data={"password": secrets.token_hex(8)})
            pt.set_controller_reference(shop, secret)
            secret = await self.client.create(secret)
        if not pt.is_controlled_by(secret, shop):
            return  # of an earlier shop of this name: the event of its removal follows
        digest = hashlib.sha256(secret.data["password"].encode()).hexdigest()
        await pt.create_or_patch(self.client, self.config(shop, digest=digest), owner=shop)


class CleansUp(Reconciler):
    """A finalizer before the first write, and a live read before the last."""

    async def ensure(self, shop: Shop) -> None:
        name = f"{shop.metadata.name}-{shop.metadata.uid}"
        if shop.metadata.deletion_timestamp is None:
            if FINALIZER not in shop.metadata.finalizers:
                shop.metadata.finalizers.append(FINALIZER)
                await self.client.update(shop)
            elif await self.client.find(ConfigMap, name, namespace=kit.NAMESPACE) is None and await self.exists(shop):
                await self.client.create(ConfigMap(metadata=kit.meta(name)))
        elif FINALIZER in shop.metadata.finalizers:
            if await self.live.find(ConfigMap, name, namespace=kit.NAMESPACE) is not None:
                await self.client.delete(ConfigMap, name, namespace=kit.NAMESPACE)
            shop.metadata.finalizers.remove(FINALIZER)
            await self.client.update(shop)

    async def exists(self, shop: Shop) -> bool:
        now = await self.live.find(Shop, kit.REQUEST)
        return now is not None and now.metadata.uid == shop.metadata.uid and now.metadata.deletion_timestamp is None


class Counts(Reconciler):
    """Its status follows from objects of others."""

    async def ensure(self, shop: Shop) -> None:
        found = await self.client.list(Secret, namespace=kit.NAMESPACE, labels={"shop": shop.metadata.name})
        if shop.status is None or shop.status.size != len(found):
            await self.client.patch_status(shop, {"status": {"size": len(found)}})


class Copies(Reconciler):
    """It copies an object of others, and follows its changes."""

    async def ensure(self, shop: Shop) -> None:
        source = await self.client.find(Secret, "source", namespace=kit.NAMESPACE)
        if source is not None:
            await pt.create_or_patch(self.client, self.config(shop, user=source.data["user"]), owner=shop)


CORRECT = (Applies, Patches, FansOut, GoesBySteps, KeepsPassword, CleansUp, Counts, Copies)


@pt.enqueue_requests_from
def to_shop(obj: Secret) -> list[pt.Request]:
    return [kit.REQUEST]


def setup_of(reconciler: type[Reconciler]) -> kit.Setup:
    async def setup(manager: pt.Manager) -> None:
        builder = pt.ControllerBuilder(manager).for_(Shop).owns(ConfigMap).watches(Secret, to_shop)
        builder.complete(reconciler(manager))

    return setup


def scenario_of(reconciler: type[Reconciler]) -> kit.Scenario:
    """A shop is opened, grows, shrinks and closes, and opens again; and others have Secrets."""
    opened = kit.create(lambda: Shop(metadata=kit.meta(), spec=ShopSpec(size=1)))
    source = kit.create(lambda: Secret(metadata=kit.meta("source", shop=kit.NAME), string_data={"user": "ada"}))
    acts = [opened, source, kit.patch(Shop, size=3), kit.patch(Shop, size=2), kit.delete(Shop), opened]
    return kit.acted(setup_of(reconciler), [Shop], acts)
