"""The shipped examples as operators in a simulation: what users do, and what must be there in the end."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pilotage as pt
from examples import (
    builtin_kinds,
    chaospod,
    database,
    gpu_agent,
    several_clusters,
    test_greetings,
    test_rollout,
    todo,
    wait_for_network,
    wait_for_secret,
)
from examples.cronjob.__main__ import job_template
from examples.cronjob.kinds import CronJob, CronJobSpec
from examples.cronjob.reconciler import CronJobReconciler
from examples.inventory.inventory.kinds import Category, CategorySpec, Item, ItemSpec
from examples.inventory.inventory.reconcilers import CategoryReconciler, ItemReconciler
from pilotage.cli.demo import databases as demo
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.types.apps.v1 import Deployment, ReplicaSet, StatefulSet
from pilotage.types.batch.v1 import Job
from pilotage.types.core.v1 import ConfigMap, Container, Namespace, Node, Pod, PodSpec, PodTemplateSpec, Secret

Step = Callable[[pt.Client], Awaitable[object]]


@dataclass(frozen=True)
class Operator:
    """An operator, and users that act one step after the other."""

    setup: Callable[[pt.Manager], Awaitable[None]]
    steps: tuple[Step, ...]
    compared: tuple[type[pt.Resource], ...]
    """The kinds whose objects make up the end state."""
    installed: tuple[type[pt.Resource], ...] = ()
    times: tuple[str, ...] = field(default=())
    """Fields of the status that depend on when something happened."""
    timed: bool = False
    """Whether what it does depends on when it looks, as that of a schedule does."""
    rests: bool = True
    """Whether it writes nothing any more once users do nothing."""


def setup_of(cls: Callable[[pt.Manager], Any]) -> Callable[[pt.Manager], Awaitable[None]]:
    async def setup(manager: pt.Manager) -> None:
        cls(manager).setup_with_manager(manager)

    return setup


def _create(obj: Callable[[], pt.Resource]) -> Step:
    return lambda client: client.create(obj())


def _delete(kind: type[pt.Resource], name: str) -> Step:
    return lambda client: client.delete(kind, name)


def _patch(kind: type[pt.Resource], name: str, change: dict[str, Any]) -> Step:
    return lambda client: client.patch(kind, change, name=name)


def _secret(name: str, **labels: str) -> Secret:
    return Secret(metadata=pt.ObjectMeta(name=name, labels=labels), string_data={"password": "correct horse"})


# The database of the examples, and that of the demonstration, which cleans up by a finalizer

DATABASE = Operator(
    setup_of(database.DatabaseReconciler),
    (
        _create(
            lambda: database.Database(
                metadata=pt.ObjectMeta(name="main"), spec=database.DatabaseSpec(engine="postgres", replicas=3)
            )
        ),
        _create(lambda: _secret("main-password", database="main")),
        _patch(database.Database, "main", {"spec": {"replicas": 5}}),
        _delete(StatefulSet, "main"),
    ),
    (database.Database, StatefulSet),
    (database.Database,),
)
DEMO = Operator(
    setup_of(demo.DatabaseReconciler),
    (
        _create(lambda: _secret("main-password", database="main")),
        _create(lambda: _secret("kept-password", database="kept")),
        _create(lambda: demo.Database(metadata=pt.ObjectMeta(name="main"), spec=demo.DatabaseSpec(engine="mysql"))),
        _create(lambda: demo.Database(metadata=pt.ObjectMeta(name="kept"), spec=demo.DatabaseSpec(engine="mysql"))),
        _delete(demo.Database, "main"),
    ),
    (demo.Database, StatefulSet),
    (demo.Database,),
)

# A Pod that is stopped and started again, for ever

CHAOS_POD = Operator(
    setup_of(lambda manager: _ChaosPods(manager)),
    (
        _create(
            lambda: chaospod.ChaosPod(
                metadata=pt.ObjectMeta(name="chaos"),
                spec=chaospod.ChaosPodSpec(
                    template=PodTemplateSpec(
                        spec=PodSpec(
                            containers=[Container(name="web", image="nginx")], automount_service_account_token=False
                        )
                    ),
                    lifetime_seconds=50,
                ),
            )
        ),
    ),
    (chaospod.ChaosPod, Pod),
    (chaospod.ChaosPod,),
    times=("lastRun", "nextStop"),
    timed=True,
    rests=False,
)


class _ChaosPods:
    def __init__(self, manager: pt.Manager) -> None:
        self._reconciler = chaospod.ChaosPodReconciler(manager, random.Random(0))

    def setup_with_manager(self, manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(chaospod.ChaosPod).owns(Pod).complete(self._reconciler)


# Jobs on a schedule

CRON_JOB = Operator(
    setup_of(CronJobReconciler),
    (
        _create(
            lambda: CronJob(
                metadata=pt.ObjectMeta(name="hello"),
                spec=CronJobSpec(schedule="* * * * *", job_template=job_template()),
            )
        ),
        _patch(CronJob, "hello", {"spec": {"suspend": True}}),
    ),
    (CronJob, Job),
    (CronJob,),
    timed=True,
)

# Labels of a built-in kind that count other objects


async def _replica_set_with_pods(client: pt.Client) -> None:
    owner = await client.create(builtin_kinds.replica_set("web"))
    for number in range(2):
        await client.create(builtin_kinds.pod_of(owner, number))


REPLICA_SET = Operator(
    setup_of(lambda manager: _ReplicaSets(manager)),
    (_replica_set_with_pods, lambda client: client.delete(Pod, "web-1", grace_period_seconds=0)),
    (ReplicaSet, Pod),
)


class _ReplicaSets:
    """The controller of the example without its webhooks."""

    def __init__(self, manager: pt.Manager) -> None:
        self._reconciler = builtin_kinds.ReplicaSetReconciler(manager)

    def setup_with_manager(self, manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(ReplicaSet).owns(Pod).complete(self._reconciler)


# Copies of Secrets in another cluster, which is the same one here

_SOURCE, _TARGET = several_clusters.SOURCE, several_clusters.TARGET


async def _set_up_sync(manager: pt.Manager) -> None:
    builder = pt.ControllerBuilder(manager).named("secret-sync")
    for namespace in (_SOURCE, _TARGET):
        builder.watches(Secret, pt.enqueue_requests_from(several_clusters.secret_in(namespace)))
    builder.complete(several_clusters.SecretSync(manager.client, {"self": manager.client}))


async def _namespaces(client: pt.Client) -> None:
    for name in (_SOURCE, _TARGET):
        await client.create(Namespace(metadata=pt.ObjectMeta(name=name)))


SYNC = Operator(
    _set_up_sync,
    (
        _namespaces,
        lambda client: client.with_namespace(_SOURCE).create(_secret("login")),
        lambda client: client.with_namespace(_SOURCE).create(_secret("other")),
        lambda client: client.with_namespace(_TARGET).delete(Secret, "login"),
        lambda client: client.with_namespace(_SOURCE).delete(Secret, "other"),
    ),
    (Secret,),
)

# Waiting for an object, and for something outside


async def _app_and_later_its_secret(client: pt.Client) -> None:
    spec = wait_for_secret.AppSpec(secret="shop-login")
    await client.create(wait_for_secret.App(metadata=pt.ObjectMeta(name="shop"), spec=spec))
    await asyncio.sleep(7)
    await client.create(_secret("shop-login", app="shop"))


WAIT_FOR_SECRET = Operator(
    setup_of(wait_for_secret.AppReconciler),
    (_app_and_later_its_secret,),
    (wait_for_secret.App,),
    (wait_for_secret.App,),
)
WAIT_FOR_NETWORK = Operator(
    setup_of(lambda manager: wait_for_network.SubnetReconciler(manager, wait_for_network.Cloud())),
    (
        _create(
            lambda: wait_for_network.Subnet(
                metadata=pt.ObjectMeta(name="front"), spec=wait_for_network.SubnetSpec(network="main")
            )
        ),
    ),
    (wait_for_network.Subnet,),
    (wait_for_network.Subnet,),
)

# Taints of a Node by the conditions of its GPUs, which come from the same API server here


def _gpu(reset_required: str) -> dict[str, Any]:
    condition = {"type": "ResetRequired", "status": reset_required, "lastTransitionTime": "2024-01-01T00:00:00Z"}
    return {"status": {"conditions": [condition | {"reason": "Test", "message": ""}]}}


async def _sick_gpu(client: pt.Client) -> None:
    await client.create(Node(metadata=pt.ObjectMeta(name="worker")))
    await client.create(GPU(metadata=pt.ObjectMeta(name="gpu-0"), spec=GPUSpec(uuid="GPU-0")))
    await client.patch(GPU, _gpu("True"), name="gpu-0", subresource="status")


GPU_AGENT = Operator(
    setup_of(lambda manager: gpu_agent.GPUAgent(manager, "worker")),
    (
        _sick_gpu,
        lambda client: client.patch(GPU, _gpu("False"), name="gpu-0", subresource="status"),
        lambda client: client.patch(GPU, _gpu("True"), name="gpu-0", subresource="status"),
    ),
    (Node,),
    (GPU,),
)

# A ConfigMap with a text, and the time of the last look

GREETING = Operator(
    setup_of(test_greetings.GreetingReconciler),
    (
        _create(test_greetings.greeting),
        _patch(test_greetings.Greeting, "hello", {"spec": {"text": "good morning"}}),
    ),
    (test_greetings.Greeting, ConfigMap),
    (test_greetings.Greeting,),
    times=("looked",),
)

# A Deployment for an object; nothing makes its Pods here

SHOP = Operator(
    setup_of(test_rollout.ShopReconciler),
    (
        _create(test_rollout.shop),
        _patch(test_rollout.Shop, "corner", {"spec": {"image": "example.com/shop:2"}}),
    ),
    (test_rollout.Shop, Deployment),
    (test_rollout.Shop,),
)

# A status that follows a field

TODO = Operator(
    setup_of(todo.TodoReconciler),
    (
        _create(lambda: todo.Todo(metadata=pt.ObjectMeta(name="milk"), spec=todo.TodoSpec(text="buy milk"))),
        _patch(todo.Todo, "milk", {"spec": {"done": True}}),
    ),
    (todo.Todo,),
    (todo.Todo,),
)

# Counts of a category, and conditions of its items: two controllers in one manager


async def _setup_inventory(manager: pt.Manager) -> None:
    for reconciler in (ItemReconciler(manager), CategoryReconciler(manager)):
        reconciler.setup_with_manager(manager)


def _item(name: str, quantity: int) -> Item:
    spec = ItemSpec(name=name, category="tools", quantity=quantity, price=1299)
    return Item(metadata=pt.ObjectMeta(name=name), spec=spec)


INVENTORY = Operator(
    _setup_inventory,
    (
        _create(lambda: _item("saw", 9)),
        _create(lambda: Category(metadata=pt.ObjectMeta(name="tools"), spec=CategorySpec(name="Tools"))),
        _patch(Item, "saw", {"spec": {"quantity": 2}}),
    ),
    (Item, Category),
    (Item, Category),
    times=("lastUpdated", "lastTransitionTime"),
)

OPERATORS = {
    "builtin_kinds": REPLICA_SET,
    "chaospod": CHAOS_POD,
    "cronjob": CRON_JOB,
    "database": DATABASE,
    "demo": DEMO,
    "gpu_agent": GPU_AGENT,
    "inventory": INVENTORY,
    "several_clusters": SYNC,
    "test_greetings": GREETING,
    "test_rollout": SHOP,
    "todo": TODO,
    "wait_for_network": WAIT_FOR_NETWORK,
    "wait_for_secret": WAIT_FOR_SECRET,
}
NO_WRITES = {
    "controller_shim": "its reconciler reads GPUs and logs",
    "conversion": "webhooks only",
    "webhooks": "webhooks only",
    "why": "its reconciler is that of test_greetings, in one function",
}
"""Examples that use a builder, without an operator that writes."""
