"""An operator with exactly the generated roles works, and with one rule less it reports the missing rule."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import pilotage as pt
from hack.cluster.running import RealCluster
from pilotage.cli.program.declarations import Declarations, declarations
from pilotage.cli.program.target import Target, load_target
from pilotage.cli.rbac.analysis import analyse
from pilotage.cli.rbac.grants import Installation, RequiredPermission
from pilotage.cli.rbac.roles import role_objects
from pilotage.cluster.installation import install as install_definitions
from pilotage.meta.documents import Document, copied
from pilotage.meta.unstructured import Unstructured
from pilotage.rest.permission import rule_line
from pilotage.types.authentication.v1 import TokenRequest, TokenRequestSpec
from pilotage.types.coordination.v1 import Lease
from pilotage.types.core.v1 import ConfigMap, Event, Namespace, ServiceAccount

from ...authorization import permitted, wait_decided, wait_granted
from ...manager.restricted import restricted
from ..programs import OPERATOR, WEBHOOKS, program

INSTALLATION = Installation("operator", "shop")
WITHIN = 100.0


class Operator:
    """A program and its permissions."""

    def __init__(self, target: Target, grants: list[RequiredPermission], with_webhooks: Declarations) -> None:
        self.target = target
        self.grants = grants
        self.declared_with_webhooks = with_webhooks

    def objects(self, namespace: str, without: str = "") -> list[Document]:
        """The roles and bindings, without one rule."""
        found = [copied(each) for each in role_objects(self.grants, replace(INSTALLATION, namespace=namespace))]
        for each in found:
            if "rules" in each:
                each["rules"] = [rule for rule in each["rules"] if rule_line(rule) != without]
        return found

    def rules(self) -> list[str]:
        return [rule_line(rule) for each in self.objects("shop") for rule in each.get("rules", ())]


@pytest.fixture(scope="module")
def operator() -> Iterator[Operator]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", sys.path.copy())
        patch.setattr(sys, "dont_write_bytecode", True)
        text = (OPERATOR + WEBHOOKS).replace("greetings.example", "permitted.example")
        file = program(Path(folder), text, "permitted.py")
        target = load_target(file)
        declared = asyncio.run(declarations(target))
        with_webhooks = asyncio.run(declarations(load_target(f"{file}:add_webhooks")))
        yield Operator(target, analyse(declared, INSTALLATION).grants, with_webhooks)
        del sys.modules["permitted"]


@asynccontextmanager
async def running(
    operator: Operator, cluster: pt.Cluster, namespace: str, cache: pt.CacheOptions | None = None
) -> AsyncIterator[pt.Manager]:
    options = pt.ManagerOptions(
        cache=cache,
        leader_election=True,
        leader_election_id=INSTALLATION.lease_name,
        leader_election_namespace=namespace,
        handle_signals=False,
    )
    async with pt.Manager(cluster, options) as manager:
        await operator.target.setup(manager)
        task = asyncio.ensure_future(manager.start())
        try:
            yield manager
        finally:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task


async def apply(admin: pt.Client, documents: list[Document]) -> None:
    for document in documents:
        await admin.apply(Unstructured(copied(document)), field_owner="test", force=True)


async def greet(operator: Operator, admin: pt.Client, text: str) -> Any:
    kind: Any = operator.target.kinds[0]
    spec = sys.modules["permitted"].GreetingSpec(text=text)
    return await admin.create(kind(metadata=pt.ObjectMeta(name=text, namespace="default"), spec=spec))


async def works(operator: Operator, admin: pt.Client, manager: pt.Manager) -> None:
    """Create a Greeting and change it; wait for the objects that the operator creates for it."""
    greeting = await greet(operator, admin, "one")
    await seen(admin, ConfigMap, lambda found: found.data == {"text": "one"})
    await admin.patch(greeting, {"spec": {"text": "two"}})
    await seen(admin, ConfigMap, lambda found: found.data == {"text": "two"})
    await seen(admin, type(greeting), lambda found: found.status == {"seen": "yes"})
    await seen(admin, Event, lambda found: found.reason == "Greeted")
    assert manager.missing_permissions == ()


async def seen(admin: pt.Client, kind: Any, condition: Any) -> None:
    async with asyncio.timeout(WITHIN), admin.watch(kind, namespace="default") as events:
        async for event in events:
            if condition(event.object):
                return


@pytest.mark.virtual_time
async def test_the_generated_roles_are_enough(operator: Operator) -> None:
    async with restricted() as (cluster, admin):
        await install(admin, operator)
        await apply(admin, operator.objects("shop"))
        async with running(operator, cluster, "shop") as manager:
            await works(operator, admin, manager)


@pytest.mark.virtual_time
async def test_roles_in_the_namespaces_are_enough_for_these_namespaces(operator: Operator) -> None:
    objects = role_objects(operator.grants, replace(INSTALLATION, namespaces=("default", "kube-public")))
    assert {each["kind"] for each in objects} == {"Role", "RoleBinding"}
    async with restricted() as (cluster, admin):
        await install(admin, operator)
        await apply(admin, objects)
        cache = pt.CacheOptions(default_namespaces=("default", "kube-public"))
        async with running(operator, cluster, "shop", cache) as manager:
            await works(operator, admin, manager)


async def install(admin: pt.Client, operator: Operator) -> None:
    await admin.create(Namespace(metadata=pt.ObjectMeta(name=INSTALLATION.namespace)))
    await install_definitions(admin, operator.target.kinds, {})


RULES = [
    '{apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch", "create", "patch"]}',
    '{apiGroups: [""], resources: ["events"], verbs: ["create", "patch"]}',
    '{apiGroups: ["permitted.example.com"], resources: ["greetings"], verbs: ["get", "list", "watch"]}',
    '{apiGroups: ["permitted.example.com"], resources: ["greetings/status"], verbs: ["patch"]}',
    '{apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["create"]}',
]
"""Those that the test below removes, one at a time."""


def test_these_are_all_rules_but_two(operator: Operator) -> None:
    """`finalizers` is checked by an admission plugin that is off by default, and the Lease can be named in one rule."""
    lease = '"leases"], resourceNames: ["operator-leader"], verbs: ["get", "watch", "update"]}'
    others = [
        '{apiGroups: ["permitted.example.com"], resources: ["greetings/finalizers"], verbs: ["update"]}',
        '{apiGroups: ["coordination.k8s.io"], resources: [' + lease,
    ]
    assert sorted(operator.rules()) == sorted(RULES + others)


async def missing(manager: pt.Manager) -> tuple[str, str]:
    """The group and the resource of the first permission that is missing."""
    async with asyncio.timeout(WITHIN):
        while not manager.missing_permissions:  # noqa: ASYNC110 - as a kubelet asks for readiness
            await asyncio.sleep(0.05)
    [found, *_] = manager.missing_permissions
    return found.group, found.resource


def removed(rule: str) -> tuple[str, str]:
    group, resource = (part.partition('"')[2].partition('"')[0] for part in rule.split(": [")[1:3])
    return group, resource


@pytest.mark.virtual_time
@pytest.mark.parametrize("rule", RULES)
async def test_with_one_rule_less_it_reports_the_missing_rule(operator: Operator, rule: str) -> None:
    async with restricted() as (cluster, admin):
        await install(admin, operator)
        await apply(admin, operator.objects("shop", without=rule))
        async with running(operator, cluster, "shop") as manager:
            await greet(operator, admin, "other")
            assert await missing(manager) == removed(rule)


async def account_token(admin: pt.Client, installation: Installation) -> str:
    """Create the namespace and the service account; its token."""
    await admin.create(Namespace(metadata=pt.ObjectMeta(name=installation.namespace)))
    meta = pt.ObjectMeta(name=installation.name, namespace=installation.namespace)
    account = await admin.create(ServiceAccount(metadata=meta))
    answer = await admin.subresource("token", TokenRequest).create(account, TokenRequest(spec=TokenRequestSpec()))
    return (answer.status.token if answer.status is not None else None) or ""


async def decided(admin: pt.Client, operator: Operator, namespace: str, without: str) -> None:
    """Wait until the API server decides by the roles, from which one rule was removed."""
    user = f"system:serviceaccount:{namespace}:{INSTALLATION.name}"
    await wait_granted(admin, user, operator.objects(namespace, without=without))
    for role in operator.objects(namespace):
        for rule in role.get("rules", ()):
            for attributes in permitted({**role, "rules": [rule]}) if rule_line(rule) == without else ():
                await wait_decided(admin, user, attributes, allowed=False)


@pytest.mark.cluster
async def test_on_a_real_cluster_the_roles_are_enough_and_one_less_is_not(
    operator: Operator, real_control_plane: RealCluster
) -> None:
    url, authority, namespace = real_control_plane.url, str(real_control_plane.ca_file), INSTALLATION.namespace
    async with pt.Cluster.connect(url, token=real_control_plane.token, ca_file=authority) as owner:
        admin = owner.client
        await install_definitions(admin, operator.target.kinds, {})
        token = await account_token(admin, INSTALLATION)
        for rule in (*RULES[::2], ""):
            await apply(admin, operator.objects(namespace, without=rule))
            await decided(admin, operator, namespace, without=rule)
            cluster = pt.Cluster.connect(url, token=token, ca_file=authority)
            async with running(operator, cluster, namespace) as manager:
                if rule:
                    await greet(operator, admin, "other")
                    assert await missing(manager) == removed(rule)
                else:
                    await works(operator, admin, manager)
            await admin.delete_all_of(operator.target.kinds[0], namespace="default")
            await admin.delete_all_of(Lease, namespace=namespace)


@pytest.mark.cluster
@pytest.mark.parametrize("register", [False, True], ids=["injects the bundle", "registers"])
async def test_on_a_real_cluster_the_roles_are_enough_for_webhooks(
    operator: Operator, real_control_plane: RealCluster, register: bool
) -> None:
    """With the configurations of the manifests the program injects the bundle; else the manager registers them."""
    url, authority = real_control_plane.url, str(real_control_plane.ca_file)
    installation = replace(INSTALLATION, namespace=f"webhooks-{register}".lower(), registers_webhooks=register)
    options = pt.webhook.WebhookServerOptions(
        host="127.0.0.1",
        port=0,
        reachable_host="127.0.0.1",
        register=register,
        remove_on_stop=False,
        secret_namespace=installation.namespace,
    )
    declared = operator.declared_with_webhooks
    granted = analyse(declared, installation).grants
    name = declared.webhooks[0].name
    kind = declared.webhooks[0].kind
    async with pt.Cluster.connect(url, token=real_control_plane.token, ca_file=authority) as owner:
        admin = owner.client
        token = await account_token(admin, installation)
        roles = role_objects(granted, installation)
        await apply(admin, roles)
        user = f"system:serviceaccount:{installation.namespace}:{installation.name}"
        await wait_granted(admin, user, roles)
        if not register:
            address = {"url": "https://127.0.0.1:1/mutate"}
            await apply(admin, [each.document(address) for each in declared.webhooks])
        manager_options = pt.ManagerOptions(webhook_server=pt.webhook.WebhookServer(options), handle_signals=False)
        async with (
            asyncio.timeout(WITHIN),
            pt.Manager(pt.Cluster.connect(url, token=token, ca_file=authority), manager_options) as manager,
        ):
            await declared.target.setup(manager)
            task = asyncio.ensure_future(manager.start())
            await manager.webhook_server.wait_started()
            assert manager.missing_permissions == ()
            task.cancel()
            await asyncio.wait([task])
        found = await admin.get(kind, name)
        assert found.nested("webhooks", 0, "clientConfig", "caBundle")
        await admin.delete(kind, name)
