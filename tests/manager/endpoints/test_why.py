"""`/debug/why`: what a manager answers about its objects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

import pilotage as pt
from pilotage.controller.predicates import generation_changed
from pilotage.history.options import HistoryOptions
from pilotage.history.why.answer import Answer
from pilotage.history.why.text import answer_lines
from pilotage.http.messages import HTTPRequest, HTTPResponse
from pilotage.manager.manager import Manager
from pilotage.tasks import cancel_all
from pilotage.types.core.v1 import ConfigMap, Secret
from tests.manager.election.test_elector import Board, Lock, held_by

pytestmark = pytest.mark.virtual_time


class JobSpec(pt.Model):
    size: int = 0


@pt.resource(group="mine.example.com", version="v1", kind="CronJob")
class Own(pt.Resource):
    spec: JobSpec


Reconcile = Callable[[pt.Request], Any]


def config(name: str = "a", namespace: str = "default", **meta: Any) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace=namespace, **meta), data={"size": "1"})


@asynccontextmanager
async def running(
    reconcile: Reconcile | None = None, options: pt.ManagerOptions | None = None, **watch: Any
) -> AsyncIterator[Manager]:
    """A manager that runs, with a controller of ConfigMaps."""
    async with pt.Manager(pt.Cluster.embedded(), options) as manager:
        if reconcile is not None:
            pt.ControllerBuilder(manager).for_(ConfigMap, **watch).complete(reconcile)
        task = asyncio.create_task(manager.start())
        await manager.ready()
        await asyncio.sleep(0.1)
        try:
            yield manager
        finally:
            await cancel_all(task)


async def respond(manager: Manager, method: str = "GET", **parameters: str) -> HTTPResponse:
    answer = await manager.debug_handler(HTTPRequest(method, f"/debug/why?{urlencode(parameters)}"))
    assert isinstance(answer, HTTPResponse)
    return answer


async def ask(manager: Manager, name: str = "a", kind: str = "configmap", **parameters: str) -> Answer:
    response = await respond(manager, type=kind, name=name, **parameters)
    assert response.status == 200, response.body
    return msgspec.json.decode(response.body, type=Answer)


async def reasons(manager: Manager, name: str = "a", kind: str = "configmap", **parameters: str) -> dict[str, str]:
    return {reason.code: reason.text for reason in (await ask(manager, name, kind, **parameters)).reasons}


async def nothing(request: pt.Request) -> None: ...


async def test_the_answer_has_the_reconciles_and_that_nothing_is_pending() -> None:
    async with running(nothing) as manager:
        await manager.cluster.client.create(config())
        await asyncio.sleep(1)
        found = await ask(manager)
        assert [str(each.causes[0]) for each in found.reconciles] == ["ConfigMap default/a was created"]
        assert [reason.code for reason in found.reasons] == ["last"]


async def test_a_change_that_a_predicate_dropped_is_named_with_its_fields() -> None:
    async with running(nothing, predicates=[generation_changed]) as manager:
        await manager.cluster.client.create(config())
        await asyncio.sleep(1)
        await manager.cluster.client.patch(
            ConfigMap, {"metadata": {"labels": {"x": "y"}}}, name="a", namespace="default"
        )
        await asyncio.sleep(1)
        found = (await reasons(manager))["dropped"]
        assert "metadata.labels.x: (none) → 'y') was dropped by predicate" in found


async def test_a_failed_reconcile_waits_with_its_error() -> None:
    async def fail(request: pt.Request) -> None:
        raise ValueError("no disk")

    async with running(fail) as manager:
        await manager.cluster.client.create(config())
        await asyncio.sleep(10)
        found = (await reasons(manager))["waiting"]
        assert "because it failed 11 times in a row, last with ValueError: no disk" in found


async def test_a_terminal_error_is_not_retried() -> None:
    async def fail(request: pt.Request) -> None:
        raise pt.TerminalError("the name is not allowed")

    async with running(fail) as manager:
        await manager.cluster.client.create(config())
        await asyncio.sleep(1)
        assert "the name is not allowed; the next one runs when" in (await reasons(manager))["terminal"]


async def test_a_requeue_is_due_in_a_while() -> None:
    async def again(request: pt.Request) -> pt.Result:
        return pt.Result(requeue_after=30)

    async with running(again) as manager:
        await manager.cluster.client.create(config())
        await asyncio.sleep(10)
        found = (await reasons(manager))["waiting"]
        assert found.startswith("controller configmap: the next reconcile is due in 20 s, because reconcile #")
        assert found.endswith("returned requeue_after=30")


async def test_a_reconcile_that_runs_is_shown_with_its_line_and_those_behind_it_with_their_place() -> None:
    async def wait(request: pt.Request) -> None:
        await asyncio.sleep(1000 if request.name == "a" else 0)

    async with running(wait) as manager:
        for name in "abcd":
            await manager.cluster.client.create(config(name))
        await asyncio.sleep(60)
        found = (await reasons(manager))["running"]
        assert "a reconcile has been running for 60 s, at " in found
        assert "test_why.py" in found
        assert found.endswith("wait")
        (queued,) = [await reasons(manager, "c")]
        assert "is on the queue behind 1 other request: its worker is busy with other objects" in queued["queued"]
        assert "not been reconciled" not in str(queued)


async def test_a_standby_names_the_leader() -> None:
    board = Board(held_by("host-b"))
    lock = Lock(board)
    options = pt.ManagerOptions(leader_election=True, leader_election_resource_lock_interface=lock, lease_duration=900)
    async with running(nothing, options) as manager:
        await manager.cluster.client.create(config())
        await asyncio.sleep(5)
        found = await reasons(manager)
        assert found["not-leading"].startswith(
            "this replica does not lead, so its controllers wait; the leader is host-b"
        )
        assert "not-started" not in found


async def test_a_controller_whose_kind_is_not_served_has_not_started() -> None:
    class WidgetSpec(pt.Model):
        size: int = 0

    @pt.resource(group="late.example.com", version="v1")
    class Widget(pt.Resource):
        spec: WidgetSpec

    async with running() as manager:
        pt.ControllerBuilder(manager).for_(ConfigMap).watches(Widget, lambda event: []).named("late").complete(nothing)
        await asyncio.sleep(5)
        found = (await reasons(manager))["not-started"]
        assert found.startswith("controller late: it has not started: it waits for kind source: *v1.Widget (")
        assert "late.example.com" in found
        refused = await respond(manager, type="widget", name="a")
        assert (refused.status, refused.body[:35]) == (404, b"the server doesn't have a resource ")


async def test_of_two_kinds_with_one_name_the_one_that_is_reconciled_is_meant() -> None:
    async with running() as manager:
        await manager.cluster.install(Own)
        assert (await respond(manager, type="cronjob", name="a")).status == 404
        pt.ControllerBuilder(manager).for_(Own).complete(nothing)
        found = await ask(manager, "a", "cronjob")
        assert (found.kind, found.group) == ("CronJob", "mine.example.com")


async def test_a_kind_that_is_not_watched_has_the_controllers_that_there_are() -> None:
    async with running(nothing) as manager:
        found = await reasons(manager, "x", "secrets")
        assert found["not-found"] == "Secret default/x does not exist"
        assert (
            found["not-watched"]
            == "no controller of this program watches Secret; its controllers are configmap (ConfigMap)"
        )


async def test_an_owned_object_names_its_owner_and_one_without_an_owner_leads_to_no_request() -> None:
    async with running() as manager:
        pt.ControllerBuilder(manager).for_(Secret).owns(ConfigMap).complete(nothing)
        client = manager.cluster.client
        secret = await client.create(Secret(metadata=pt.ObjectMeta(name="main", namespace="default")))
        owned = config()
        pt.set_controller_reference(secret, owned)
        await client.create(owned)
        await client.create(config("alone"))
        await asyncio.sleep(1)
        found = await reasons(manager)
        assert found["not-reconciled"].endswith(
            "secret owns ConfigMap and reconciles Secret; ask for the owner: pilotage why secret/main"
        )
        alone = await reasons(manager, "alone")
        assert "has no owner" in alone["not-reconciled"]
        assert "was dropped by the handler for owners of kind Secret, which returned no request" in alone["dropped"]
        assert (await ask(manager)).are_of_others


def no_request(config: ConfigMap) -> list[pt.Request]:
    return []


async def test_an_event_that_a_function_maps_to_no_request_names_the_function() -> None:
    async with running() as manager:
        watching = (
            pt.ControllerBuilder(manager).named("watching").watches(ConfigMap, pt.enqueue_requests_from(no_request))
        )
        watching.complete(nothing)
        await manager.cluster.client.create(config())
        await asyncio.sleep(1)
        found = await reasons(manager)
        assert "by handler no_request, which returned no request" in found["dropped"]
        assert found["not-reconciled"] == (
            "no controller is for ConfigMap: watching watches ConfigMap and reconciles requests of its own"
        )


async def test_a_deletion_waits_for_the_finalizers_of_a_client() -> None:
    async with running(nothing) as manager:
        client = manager.cluster.client
        await client.create(config(finalizers=["example.com/cleanup"]), field_owner="cleaner")
        await client.delete(ConfigMap, "a", namespace="default")
        await asyncio.sleep(1)
        found = (await reasons(manager))["finalizers"]
        assert found.endswith("exists until these finalizers are removed: example.com/cleanup (set by cleaner)")


async def test_an_object_in_another_namespace_is_pointed_out() -> None:
    async with running(nothing) as manager:
        await manager.cluster.client.create(config(namespace="kube-system"))
        await asyncio.sleep(1)
        found = await reasons(manager)
        assert found["not-found"].endswith(
            "there is one with this name in the namespace kube-system: add -n kube-system"
        )
        assert (await ask(manager, namespace="kube-system")).total == 1


async def test_an_object_that_the_cache_leaves_out_is_pointed_out() -> None:
    only = pt.CacheOptions(default_namespaces=["team-a"])
    async with running(nothing, pt.ManagerOptions(cache=only)) as manager:
        await manager.cluster.client.create(config())
        found = await reasons(manager)
        assert found["namespace"].startswith("this program watches ConfigMap only in team-a, and not in default")
    labelled = pt.CacheOptions(by_object={ConfigMap: pt.ByObject(label_selector={"app": "x"})})
    async with running(nothing, pt.ManagerOptions(cache=labelled)) as manager:
        await manager.cluster.client.create(config())
        await asyncio.sleep(1)
        assert "the cache of this program does not have it" in (await reasons(manager))["not-cached"]


async def test_a_program_without_a_history_says_so() -> None:
    options = pt.ManagerOptions(history=HistoryOptions(enabled=False))
    async with running(nothing, options) as manager:
        await manager.cluster.client.create(config())
        await asyncio.sleep(1)
        assert {*await reasons(manager)} == {"last", "no-history"}


async def test_a_field_is_explained_by_the_reconcile_that_wrote_it() -> None:
    async with running() as manager:

        async def copy(request: pt.Request) -> None:
            found = await manager.client.get(ConfigMap, request)
            if request.name == "a":
                await pt.create_or_patch(
                    manager.client,
                    Secret(
                        metadata=pt.ObjectMeta(name="b", namespace="default"), string_data={"size": found.data["size"]}
                    ),
                )

        pt.ControllerBuilder(manager).for_(ConfigMap).complete(copy)
        await asyncio.sleep(1)
        await manager.cluster.client.create(config(), field_owner="kubectl-create")
        await asyncio.sleep(1)
        found = [str(line) for line in answer_lines(await ask(manager, "b", "secret", field="data.size"))]
        assert found[0].startswith("Secret default/b: data.size is 'hash ")
        assert found[1].startswith("  wrote    by reconcile #1 of configmap default/a at ")
        assert found[1].partition("data.size: ")[2].startswith("'hash ")
        assert found[2] == "  because  ConfigMap default/a was created by kubectl-create"
        edited = [str(line) for line in answer_lines(await ask(manager, field="data.size"))]
        assert edited[0] == "ConfigMap default/a: data.size is '1'"
        assert "by the field manager kubectl-create (Update)" in edited[1]


async def test_with_shards_an_object_of_another_replica_is_named() -> None:
    cluster = pt.Cluster.embedded()
    options = pt.ManagerOptions(shards="s")
    async with pt.Manager(cluster, options) as one, pt.Manager(cluster, options) as two:
        for manager in (one, two):
            pt.ControllerBuilder(manager).for_(ConfigMap).complete(nothing)
        tasks = [asyncio.create_task(manager.start()) for manager in (one, two)]
        await asyncio.sleep(30)
        await cluster.client.create(config())
        await asyncio.sleep(1)
        found = [await reasons(manager) for manager in (one, two)]
        assert sorted("shard" in each for each in found) == [False, True]
        (elsewhere,) = [each["shard"] for each in found if "shard" in each]
        assert elsewhere == "controller configmap: another one of 2 replicas works on ConfigMap default/a; ask that one"
        await cancel_all(*tasks)


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"type": "configmap"}, "the parameter name is missing"),
        ({"name": "a"}, "the parameter type is missing"),
        ({"type": "configmap", "name": "a", "limit": "-1"}, "limit must be a number"),
        ({"type": "configmap", "name": "a", "limit": "9" * 20}, "limit must be a number"),
        ({"type": "configmap", "name": "a" * 1001}, "the parameter name has more than 1000 characters"),
        ({f"p{number}": "x" for number in range(20)}, "invalid question: "),
    ],
)
async def test_a_wrong_question_is_refused(parameters: dict[str, str], problem: str) -> None:
    async with running() as manager:
        response = await respond(manager, **parameters)
        assert (response.status, problem in response.body.decode()) == (400, True)


async def test_nothing_can_be_written() -> None:
    async with running() as manager:
        assert (await respond(manager, "POST", type="configmap", name="a")).status == 405
