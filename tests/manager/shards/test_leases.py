"""The leases of members as objects of an API server, in every environment."""

from __future__ import annotations

import pytest

from pilotage.errors import Conflict
from pilotage.manager.errors import LeaderElectionLost
from pilotage.manager.shards.leases import MemberLeases, Membership
from pilotage.manager.shards.ownership import Member
from pilotage.meta.scalars.times import system_clock
from pilotage.rest.fence import LeaderTerm
from pilotage.types.coordination.v1 import Lease

from ...environments import Environment


def leases(environment: Environment, name: str, group: str = "group") -> MemberLeases:
    return MemberLeases(
        environment.client, environment.cluster(), Membership(environment.namespace, group, name, 15), system_clock
    )


async def named(member: MemberLeases) -> dict[str, Member]:
    return {found.name: found for found in await member.members()}


async def test_members_publish_their_views_and_see_those_of_their_group(environment: Environment) -> None:
    a, b, other = leases(environment, "a"), leases(environment, "b"), leases(environment, "c", "another")
    for member in (a, b, other):
        await member.join()
    before = await named(a)
    assert {name: found.view for name, found in before.items()} == {"a": frozenset(), "b": frozenset()}
    await a.renew(frozenset({"a", "b"}))
    await a.renew(frozenset({"a", "b"}))
    after = await named(b)
    assert after["a"].view == {"a", "b"}
    assert after["a"].version != before["a"].version
    assert after["b"].version == before["b"].version
    assert a.fence(lambda: None).term == LeaderTerm(environment.namespace, "a", "a", 0)


async def test_a_member_is_removed_only_if_it_has_not_renewed_its_lease(environment: Environment) -> None:
    a, b = leases(environment, "a"), leases(environment, "b")
    await a.join()
    await b.join()
    seen = (await named(a))["b"]
    await b.renew(frozenset())
    assert not await a.remove(seen)
    assert await a.remove((await named(a))["b"])
    assert await a.remove(seen)  # another member was faster
    assert set(await named(a)) == {"a"}


async def test_a_member_that_was_removed_notices_it_and_does_not_come_back(environment: Environment) -> None:
    a = leases(environment, "a")
    await a.join()
    await environment.client.delete(Lease, "a", namespace=environment.namespace)
    for _ in range(2):
        with pytest.raises((LeaderElectionLost, Conflict)):  # a conflict, and then it reads its lease
            await a.renew(frozenset({"a"}))
    with pytest.raises(LeaderElectionLost, match="taken over"):
        await a.renew(frozenset({"a"}))
    assert not await a.members()


async def test_a_member_that_leaves_is_no_member_and_may_leave_twice(environment: Environment) -> None:
    a = leases(environment, "a")
    await a.join()
    await a.leave()
    await a.leave()
    assert not await a.members()


async def test_a_lease_that_another_writer_has_changed_is_renewed_at_the_next_attempt(environment: Environment) -> None:
    a = leases(environment, "a")
    await a.join()
    lease = await environment.client.get(Lease, "a", namespace=environment.namespace)
    lease.metadata.labels = {**lease.metadata.labels, "seen-by": "kubectl"}
    await environment.client.update(lease)
    with pytest.raises(Conflict):
        await a.renew(frozenset())
    await a.renew(frozenset({"a"}))
    assert (await named(a))["a"].view == {"a"}


async def test_a_member_that_did_not_get_the_answer_to_its_join_joins_at_the_next_attempt(
    environment: Environment,
) -> None:
    await leases(environment, "a").join()  # the answer was lost
    a = leases(environment, "a")
    before = (await named(a))["a"]
    await a.join()
    assert (await named(a))["a"].version != before.version
    await a.renew(frozenset({"a"}))
