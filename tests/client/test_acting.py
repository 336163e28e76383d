"""A client that acts as another user, on every API server."""

from __future__ import annotations

import pytest

from pilotage.errors import Forbidden
from pilotage.meta.models import ObjectMeta
from pilotage.types.authorization.v1 import ResourceAttributes
from pilotage.types.core.v1 import ConfigMap
from pilotage.types.rbac.v1 import PolicyRule, Role, RoleBinding, RoleRef, Subject

from ..authorization import wait_decided
from ..environments import Environment

GROUP = "rbac.authorization.k8s.io"


async def _grant(environment: Environment, subject: Subject, user: str, *groups: str) -> None:
    """Let a subject, which a user is, read ConfigMaps in the namespace of the test."""
    metadata = ObjectMeta(name="reader", namespace=environment.namespace)
    await environment.client.create(
        Role(metadata=metadata, rules=[PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["get"])])
    )
    reference = RoleRef(api_group=GROUP, kind="Role", name="reader")
    metadata = ObjectMeta(name="reader", namespace=environment.namespace)
    await environment.client.create(RoleBinding(metadata=metadata, role_ref=reference, subjects=[subject]))
    await environment.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=environment.namespace)))
    attributes = ResourceAttributes(verb="get", resource="configmaps", namespace=environment.namespace)
    await wait_decided(environment.client, user, attributes, groups=groups)


async def test_a_client_that_acts_as_another_user_has_the_rights_of_that_user(environment: Environment) -> None:
    await _grant(environment, Subject(api_group=GROUP, kind="User", name="alice"), "alice")
    alice = environment.client.as_user("alice")
    assert (await alice.get(ConfigMap, "a", namespace=environment.namespace)).metadata.name == "a"
    with pytest.raises(Forbidden) as refused:
        await alice.delete(ConfigMap, "a", namespace=environment.namespace)
    assert f'cannot delete resource "configmaps" in API group "" in the namespace "{environment.namespace}"' in str(
        refused.value
    )
    with pytest.raises(Forbidden, match='User "bob" cannot get resource'):
        await environment.client.as_user("bob").get(ConfigMap, "a", namespace=environment.namespace)


async def test_a_user_has_the_rights_of_its_groups(environment: Environment) -> None:
    await _grant(environment, Subject(api_group=GROUP, kind="Group", name="team"), "carol", "team")
    assert await environment.client.as_user("carol", groups=["team"]).get(
        ConfigMap, "a", namespace=environment.namespace
    )
    with pytest.raises(Forbidden):
        await environment.client.as_user("carol", groups=["other"]).get(ConfigMap, "a", namespace=environment.namespace)


async def test_a_service_account_is_a_user(environment: Environment) -> None:
    user = f"system:serviceaccount:{environment.namespace}:robot"
    await _grant(environment, Subject(kind="ServiceAccount", name="robot", namespace=environment.namespace), user)
    robot = environment.client.as_user(user)
    assert await robot.get(ConfigMap, "a", namespace=environment.namespace)
    with pytest.raises(Forbidden):
        await robot.list(ConfigMap, namespace=environment.namespace)
