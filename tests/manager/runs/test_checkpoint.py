"""A run begins with what was changed or is due since the last one, and leaves the rest to the next."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from pilotage.cluster import Cluster
from pilotage.controller import ControllerBuilder, Request, Result, enqueue_requests_from
from pilotage.errors import InvalidDefinition, NotFound
from pilotage.manager.errors import AlreadyStarted, NotIdle
from pilotage.manager.manager import Manager
from pilotage.manager.options import ManagerOptions
from pilotage.manager.runs import checkpoint
from pilotage.manager.runs.checkpoint import (
    ALL,
    ControllerState,
    SeenObjects,
    bounded,
    decoded,
    encoded,
    merged,
    version_of,
)
from pilotage.meta.models import ObjectMeta, OwnerReference
from pilotage.meta.objects import Header
from pilotage.types.core.v1 import ConfigMap, Secret
from pilotage.types.rbac.v1 import ClusterRoleBinding, PolicyRule

from ..restricted import grant, restricted

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
pytestmark = pytest.mark.virtual_time


class Program:
    """A reconciler of Secrets that own ConfigMaps, run again and again on one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.reconciled: list[str] = []
        self.after: dict[str, float] = {}
        self.failing: set[str] = set()

    @asynccontextmanager
    async def manager(self, name: str = "run") -> AsyncIterator[Manager]:
        async with Manager(self.cluster, ManagerOptions(checkpoint=name)) as manager:
            ControllerBuilder(manager).for_(Secret).owns(ConfigMap).complete(self.reconcile)
            yield manager

    async def reconcile(self, request: Request) -> Result | None:
        self.reconciled.append(request.name)
        if request.name in self.failing:
            raise RuntimeError("not yet")
        after = self.after.get(request.name, 0)
        return Result(requeue_after=after) if after else None

    async def run(self, horizon: float = 0) -> list[str]:
        self.reconciled.clear()
        async with self.manager() as manager:
            await manager.run_until_idle(timeout=100, horizon=horizon)
        return sorted(self.reconciled)

    async def due(self) -> dict[str, str]:
        """The lines of the record: when, by request."""
        stored = await self.cluster.client.get(ConfigMap, "run-secret", namespace="default")
        return {key: time for time, _, key in (line.partition(" ") for line in stored.data["due"].splitlines())}


@asynccontextmanager
async def three_secrets() -> AsyncIterator[Program]:
    async with Cluster.embedded() as cluster:
        for name in ("a", "b", "c"):
            await cluster.client.create(secret(name))
        yield Program(cluster)


def secret(name: str) -> Secret:
    return Secret(metadata=ObjectMeta(name=name, namespace="default"))


async def test_the_first_run_begins_with_all_objects_and_the_next_with_none() -> None:
    async with three_secrets() as program:
        assert await program.run() == ["a", "b", "c"]
        assert await program.run() == []


async def test_a_run_without_a_change_writes_nothing() -> None:
    async with three_secrets() as program:
        await program.run()
        before = await program.cluster.client.get(ConfigMap, "run-secret", namespace="default")
        await program.run()
        after = await program.cluster.client.get(ConfigMap, "run-secret", namespace="default")
        assert after.metadata.resource_version == before.metadata.resource_version


async def test_a_controller_may_have_a_name_that_a_config_map_may_not() -> None:
    async with three_secrets() as program:

        async def run() -> list[str]:
            program.reconciled.clear()
            async with Manager(program.cluster, ManagerOptions(checkpoint="run")) as manager:
                ControllerBuilder(manager).for_(Secret).named("Keeps Secrets").complete(program.reconcile)
                await manager.run_until_idle(timeout=100)
            return sorted(program.reconciled)

        assert await run() == ["a", "b", "c"]
        assert await run() == []


async def test_what_was_changed_or_created_between_two_runs_is_reconciled() -> None:
    async with three_secrets() as program:
        await asyncio.sleep(1)
        await program.run()
        changed = await program.cluster.client.get(Secret, "b", namespace="default")
        changed.metadata.labels["changed"] = "yes"
        await program.cluster.client.update(changed)
        await program.cluster.client.create(secret("d"))
        assert await program.run() == ["b", "d"]


async def test_if_an_owned_object_was_deleted_between_two_runs_all_are_reconciled() -> None:
    async with three_secrets() as program:
        owner = await program.cluster.client.get(Secret, "a", namespace="default")
        reference = OwnerReference(api_version="v1", kind="Secret", name="a", uid=owner.metadata.uid, controller=True)
        owned = ConfigMap(metadata=ObjectMeta(name="owned", namespace="default", owner_references=[reference]))
        await program.cluster.client.create(owned)
        await program.run()
        await program.cluster.client.delete(ConfigMap, "owned", namespace="default")
        assert await program.run() == ["a", "b", "c"]
        assert await program.run() == []


async def test_if_an_object_was_remapped_between_two_runs_the_request_of_its_old_state_is_reconciled_too() -> None:
    def of(config_map: ConfigMap) -> list[Request]:
        return [Request(config_map.metadata.labels["of"], "default")] if config_map.metadata.labels else []

    async with three_secrets() as program:

        async def run() -> list[str]:
            program.reconciled.clear()
            async with Manager(program.cluster, ManagerOptions(checkpoint="run")) as manager:
                builder = ControllerBuilder(manager).for_(Secret).watches(ConfigMap, enqueue_requests_from(of))
                builder.complete(program.reconcile)
                await manager.run_until_idle(timeout=100)
            return program.reconciled

        moved = ConfigMap(metadata=ObjectMeta(name="x", namespace="default", labels={"of": "a"}))
        await program.cluster.client.create(moved)
        await run()
        moved = await program.cluster.client.get(ConfigMap, "x", namespace="default")
        moved.metadata.labels["of"] = "b"
        await program.cluster.client.update(moved)
        assert {"a", "b"} <= set(await run())
        assert await run() == []


async def test_an_owned_object_that_was_changed_concerns_its_owner_and_one_with_another_owner_all() -> None:
    async with three_secrets() as program:
        client = program.cluster.client
        owners = {
            name: OwnerReference(api_version="v1", kind="Secret", name=name, uid=owner.metadata.uid, controller=True)
            for name in ("a", "b")
            if (owner := await client.get(Secret, name, namespace="default"))
        }
        owned = ConfigMap(metadata=ObjectMeta(name="owned", namespace="default", owner_references=[owners["a"]]))
        owned = await client.create(owned)
        await asyncio.sleep(1)
        await program.run()
        owned.data["changed"] = "yes"
        owned = await client.update(owned)
        assert await program.run() == ["a"]
        owned.metadata.owner_references = [owners["b"]]
        await client.update(owned)
        assert {"a", "b"} <= set(await program.run())


async def test_requeue_after_is_handed_on_and_the_run_after_its_time_honours_it() -> None:
    async with three_secrets() as program:
        program.after = {"b": 60, "c": 3600}
        await program.run()
        assert sorted(await program.due()) == ["default/b", "default/c"]
        assert await program.run() == []
        await asyncio.sleep(61)
        assert await program.run() == ["b"]
        assert sorted(await program.due()) == ["default/b", "default/c"]


async def test_a_horizon_waits_and_what_is_due_later_stays_in_the_record() -> None:
    async with three_secrets() as program:
        program.after = {"a": 10, "c": 3600}
        program.reconciled.clear()
        async with program.manager() as manager:
            await manager.run_until_idle()
            program.after.pop("a")
            await manager.run_until_idle(horizon=30)
        assert program.reconciled.count("a") == 2
        assert list(await program.due()) == ["default/c"]


async def test_a_failure_at_the_timeout_is_tried_by_the_next_run() -> None:
    async with three_secrets() as program:
        program.failing = {"b"}
        with pytest.raises(
            NotIdle, match=r"controller secret: default/b failed .* times, last with RuntimeError: not yet"
        ):
            await program.run()
        assert list(await program.due()) == ["default/b"]
        program.failing = set()
        await program.run()
        assert await program.due() == {}


async def test_a_removed_object_is_pruned_from_the_record() -> None:
    async with three_secrets() as program:
        program.after = {"b": 3600, "c": 3600}
        await program.run()
        await program.cluster.client.delete(Secret, "b", namespace="default")
        await program.run()
        assert list(await program.due()) == ["default/c"]


async def test_two_processes_at_once_keep_each_others_lines() -> None:
    async with three_secrets() as program:
        program.after = {"a": 3600}
        other = Program(program.cluster)
        other.after = {"c": 3600}
        async with program.manager() as first, other.manager() as second:
            await first.run_once(Secret, "a", namespace="default")
            await second.run_once(Secret, "c", namespace="default")
        assert sorted(await program.due()) == ["default/a", "default/c"]
        assert (program.reconciled, other.reconciled) == (["a"], ["c"])


async def test_what_another_process_left_since_the_start_is_kept_also_by_one_that_ends_later() -> None:
    async with three_secrets() as program:
        other = Program(program.cluster)
        other.after = {"a": 3600}
        async with program.manager() as manager:
            await manager.run_until_idle()
            await other.run()  # reconciles a again, and ends first
            left = await program.due()
        assert list(left) == ["default/a"]
        assert await program.due() == left


async def test_what_is_due_is_kept_by_a_run_that_could_not_read_the_objects() -> None:
    own = PolicyRule(api_groups=[""], resources=["configmaps"], verbs=["*"])
    secrets = PolicyRule(api_groups=[""], resources=["secrets"], verbs=["list", "watch"])
    async with restricted() as (cluster, admin):
        await grant(admin, "own", own)
        await grant(admin, "secrets", secrets)
        await admin.create(secret("a"))
        program = Program(cluster)
        program.after = {"a": 3600}
        await program.run()
        left = await program.due()
        await admin.delete(ClusterRoleBinding, "secrets")
        with pytest.raises(NotIdle, match="missing permission"):
            await program.run()
        assert await program.due() == left


async def test_a_run_for_one_object_leaves_the_others_to_the_next_run() -> None:
    async with three_secrets() as program:
        async with program.manager() as manager:
            await manager.run_once(Secret, "b", namespace="default")
            await manager.run_once(Secret, "c", namespace="default")
        assert program.reconciled == ["b", "c"]
        assert await program.run() == ["a", "b", "c"]


async def test_a_run_for_one_object_reconciles_what_follows_from_it() -> None:
    reconciled: list[str] = []

    async with Cluster.embedded() as cluster, Manager(cluster) as manager:
        for name in ("a", "b"):
            await cluster.client.create(secret(name))
            await cluster.client.create(ConfigMap(metadata=ObjectMeta(name=f"of-{name}", namespace="default")))

        async def label(request: Request) -> None:
            reconciled.append(request.name)
            found = await cluster.client.get(ConfigMap, f"of-{request.name}", namespace="default")
            found.metadata.labels["seen"] = "yes"
            await cluster.client.update(found)

        async def note(request: Request) -> None:
            reconciled.append(request.name)

        ControllerBuilder(manager).for_(Secret).complete(label)
        ControllerBuilder(manager).for_(ConfigMap).complete(note)
        await manager.run_once(Secret, "a", namespace="default", timeout=10)
    assert reconciled == ["a", "of-a"]


async def test_a_run_for_one_object_reports_what_it_cannot_do() -> None:
    async with three_secrets() as program, program.manager() as manager:
        with pytest.raises(NotFound):
            await manager.run_once(Secret, "absent", namespace="default")
        with pytest.raises(InvalidDefinition, match=r"no controller of this manager is for_\(ConfigMap\).*: Secret"):
            await manager.run_once(ConfigMap, "a", namespace="default")
        await manager.run_until_idle()
        with pytest.raises(AlreadyStarted, match="before the manager is started"):
            await manager.run_once(Secret, "a", namespace="default")


async def test_a_record_that_cannot_be_read_means_all_objects() -> None:
    async with three_secrets() as program:
        await program.run()
        stored = await program.cluster.client.get(ConfigMap, "run-secret", namespace="default")
        stored.data["due"] = "tomorrow default/a"
        await program.cluster.client.update(stored)
        assert await program.run() == ["a", "b", "c"]
        assert await program.run() == []


def test_a_record_is_text_that_can_be_read_back() -> None:
    record = ControllerState(
        {"Secret": SeenObjects(7, 2, "ff", NOON)}, {"shop/a": NOON, "node": NOON + timedelta(seconds=1)}
    )
    data = encoded(record)
    assert data["due"] == "2026-01-01T12:00:00+00:00 shop/a\n2026-01-01T12:00:01+00:00 node"
    assert decoded(data) == record
    assert decoded({}) == ControllerState()


def test_of_two_processes_the_one_that_has_seen_more_counts() -> None:
    old, new = SeenObjects(7, 2, "ff", NOON), SeenObjects(9, 3, "fe", NOON)
    assert merged(ControllerState({"Secret": new}), {"Secret": old}, {}, {}, lambda key: True).seen == {"Secret": new}
    assert merged(ControllerState({"Secret": old}), {"Secret": new}, {}, {}, lambda key: True).seen == {"Secret": new}


def test_more_lines_than_a_config_map_has_room_for_become_one_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "MAX_DUE_BYTES", 100)
    due = {f"shop/{number}": NOON + timedelta(seconds=number) for number in range(3)}
    assert bounded({"shop/0": NOON}) == {"shop/0": NOON}
    assert bounded(due) == {ALL: NOON}


async def test_when_all_objects_are_due_all_are_reconciled(monkeypatch: pytest.MonkeyPatch) -> None:
    async with three_secrets() as program:
        monkeypatch.setattr(checkpoint, "MAX_DUE_BYTES", 1)
        program.after = {"a": 60, "b": 90}
        await program.run()
        assert list(await program.due()) == [ALL]
        assert await program.run() == []
        await asyncio.sleep(61)
        program.after = {}
        assert await program.run() == ["a", "b", "c"]
        assert await program.due() == {}


async def test_after_the_server_was_reset_to_an_earlier_version_all_objects_are_reconciled() -> None:
    async with three_secrets() as program:
        await program.run()
        stored = await program.cluster.client.get(ConfigMap, "run-secret", namespace="default")
        seen = decoded(stored.data).seen
        later = {kind: msgspec.structs.replace(one, version=one.version + 10**6) for kind, one in seen.items()}
        stored.data = encoded(ControllerState(later))
        await program.cluster.client.update(stored)
        assert await program.run() == ["a", "b", "c"]


def test_a_version_that_is_no_number_counts_as_changed() -> None:
    assert version_of(Header(resource_version="opaque")) > version_of(Header(resource_version="9" * 15))


def test_an_object_that_was_created_in_the_second_of_the_run_existed_or_not_and_a_deleted_one_is_noticed() -> None:
    def header(uid: str, version: int, seconds: int = 0) -> Header:
        return Header(uid=uid, resource_version=str(version), creation_timestamp=NOON + timedelta(seconds=seconds))

    def uid(header: Header) -> str:
        return header.uid

    before = [header("a", 1, -9), header("b", 2)]
    seen = checkpoint.seen_of(before, 5, NOON + timedelta(milliseconds=300), uid)
    changed, new, later = header("b", 6), header("c", 7), header("d", 8, 1)
    assert not checkpoint.was_lost(seen, [*before, new, later], uid)
    assert not checkpoint.was_lost(seen, [before[0], changed, later], uid)
    assert checkpoint.was_lost(seen, [before[0], later], uid)
    assert checkpoint.was_lost(seen, [before[0], new, later], uid)
    assert checkpoint.was_lost(seen, [before[0], changed, new], uid)  # not certain
