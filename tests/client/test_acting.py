"""A client that acts as another user, on every API server."""

from __future__ import annotations

import pytest

from pilotage.errors import Forbidden
from pilotage.meta.models import ObjectMeta
from pilotage.types.authorization.v1 import ResourceAttributes
from pilotage.types.core.v1 import ConfigMap
from pilotage.types.rbac.v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject

from ..authorization import wait_decided
from ..worlds import World

GROUP = "rbac.authorization.k8s.io"


async def _grant(world: World, subject: Subject, user: str, *groups: str) -> None:
    """Let a subject, which a user is, read ConfigMaps in the namespace of the test."""
    metadata = ObjectMeta(name="reader", namespace=world.namespace)
    await world.client.create(
        Role(metadata=metadata, rules=[PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["get"])])
    )
    reference = RoleRef(api_group=GROUP, kind="Role", name="reader")
    metadata = ObjectMeta(name="reader", namespace=world.namespace)
    await world.client.create(RoleBinding(metadata=metadata, role_ref=reference, subjects=[subject]))
    await world.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=world.namespace)))
    attributes = ResourceAttributes(verb="get", resource="configmaps", namespace=world.namespace)
    await wait_decided(world.client, user, attributes, groups=groups)


async def test_a_client_that_acts_as_another_user_has_the_rights_of_that_user(world: World) -> None:
    await _grant(world, Subject(api_group=GROUP, kind="User", name="alice"), "alice")
    alice = world.client.as_user("alice")
    assert (await alice.get(ConfigMap, "a", namespace=world.namespace)).metadata.name == "a"
    with pytest.raises(Forbidden) as refused:
        await alice.delete(ConfigMap, "a", namespace=world.namespace)
    assert f'cannot delete resource "configmaps" in API group "" in the namespace "{world.namespace}"' in str(
        refused.value
    )
    with pytest.raises(Forbidden, match='User "bob" cannot get resource'):
        await world.client.as_user("bob").get(ConfigMap, "a", namespace=world.namespace)


async def test_a_user_has_the_rights_of_its_groups(world: World) -> None:
    await _grant(world, Subject(api_group=GROUP, kind="Group", name="team"), "carol", "team")
    assert await world.client.as_user("carol", groups=["team"]).get(ConfigMap, "a", namespace=world.namespace)
    with pytest.raises(Forbidden):
        await world.client.as_user("carol", groups=["other"]).get(ConfigMap, "a", namespace=world.namespace)


async def test_a_service_account_is_a_user(world: World) -> None:
    user = f"system:serviceaccount:{world.namespace}:robot"
    await _grant(world, Subject(kind="ServiceAccount", name="robot", namespace=world.namespace), user)
    robot = world.client.as_user(user)
    assert await robot.get(ConfigMap, "a", namespace=world.namespace)
    with pytest.raises(Forbidden):
        await robot.list(ConfigMap, namespace=world.namespace)
