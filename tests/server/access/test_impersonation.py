"""Which user may impersonate which, in which mode: the verbs, resources and messages are those of kube-apiserver
1.36."""

from __future__ import annotations

import pytest

from pilotage.rest.request import User
from pilotage.server.access.impersonation import Acting, Impersonation
from pilotage.server.access.policyrules import AccessAttributes
from pilotage.server.access.rbac import AccessDenied, Authorizer, Decision

ALICE = User("alice", ("system:authenticated",))
AGENT = User("system:serviceaccount:kube-system:agent", (), {"authentication.kubernetes.io/node-name": ("n1",)})


class Allowing(Authorizer):
    """Allows what is in a list of `VERB GROUP/RESOURCE[/SUBRESOURCE] NAME`."""

    def __init__(self, *allowed: str) -> None:
        self.allowed = set(allowed)

    async def authorize(self, attributes: AccessAttributes) -> Decision:
        what = attributes.path or f"{attributes.group}/{attributes.full_resource}"
        return Decision(f"{attributes.verb} {what} {attributes.name}".strip() in self.allowed)


def listing(user: User) -> AccessAttributes:
    return AccessAttributes(user, "list", "", "pods", namespace="default")


async def acting(impersonation: Impersonation, wanted: User, user: User = ALICE) -> Acting:
    return await impersonation.acting(listing(user), wanted)


ON_PODS = "impersonate-on:user-info:list /pods"
AS_BOB = "impersonate:user-info authentication.k8s.io/users bob"


async def test_a_constrained_mode_needs_the_right_to_act_and_the_right_to_do_it_while_acting() -> None:
    both = Impersonation(Allowing(ON_PODS, AS_BOB))
    assert await acting(both, User("bob")) == Acting(User("bob", ("system:authenticated",)), "impersonate:user-info")
    for one in (ON_PODS, AS_BOB):
        with pytest.raises(AccessDenied):
            await acting(Impersonation(Allowing(one)), User("bob"))


async def test_the_legacy_right_is_enough_for_every_request() -> None:
    legacy = Impersonation(Allowing("impersonate /users bob", "impersonate /groups devs"))
    assert (await acting(legacy, User("bob", ("devs",)))).constraint == ""


async def test_the_error_is_that_of_the_mode_that_was_used_last() -> None:
    impersonation = Impersonation(Allowing("impersonate /users bob"))
    with pytest.raises(AccessDenied, match="cannot impersonate-on:user-info:list resource"):
        await acting(impersonation, User("carol"))
    await acting(impersonation, User("bob"))
    with pytest.raises(AccessDenied, match='cannot impersonate resource "users"'):
        await acting(impersonation, User("carol"))


async def test_a_service_account_acts_as_the_node_that_it_runs_on() -> None:
    rules = ("impersonate-on:associated-node:list /pods", "impersonate:associated-node authentication.k8s.io/nodes *")
    impersonation = Impersonation(Allowing(*rules))
    found = await acting(impersonation, User("system:node:n1"), AGENT)
    assert found.user.groups == ("system:nodes", "system:authenticated")
    with pytest.raises(AccessDenied, match="arbitrary-node"):
        await acting(impersonation, User("system:node:n2"), AGENT)


async def test_no_constrained_mode_makes_a_user_an_administrator() -> None:
    rules = (ON_PODS, AS_BOB, "impersonate:user-info authentication.k8s.io/groups system:masters")
    with pytest.raises(AccessDenied, match="impersonating the system:masters group is not allowed"):
        await acting(Impersonation(Allowing(*rules)), User("bob", ("system:masters",)))


async def test_many_groups_are_allowed_at_once() -> None:
    groups = tuple(f"g{number}" for number in range(4))
    together = Impersonation(Allowing(ON_PODS, AS_BOB, "impersonate:user-info authentication.k8s.io/groups *"))
    assert (await acting(together, User("bob", groups))).user.groups == (*groups, "system:authenticated")
    with pytest.raises(AccessDenied):
        await acting(together, User("bob", groups[:3]))


async def test_who_is_not_authenticated_is_not_made_so() -> None:
    impersonation = Impersonation(Allowing("impersonate /users x", "impersonate /groups system:unauthenticated"))
    found = await acting(impersonation, User("x", ("system:unauthenticated",)))
    assert found.user.groups == ("system:unauthenticated",)
