"""The views of a program, now and as they were."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

import pilotage as pt
from pilotage.dashboard.dashboard import Dashboard, NotFoundInHistory
from pilotage.dashboard.gathering import Sources
from pilotage.dashboard.query import BadQuery
from pilotage.dashboard.values import Owner, State, encode
from pilotage.device.v1alpha1 import GPU, GPUSpec
from pilotage.testing import Environment
from pilotage.types.core.v1 import Secret

from .program import KIND, Book, new_book, query, set_up


async def objects(dashboard: Dashboard, **values: str) -> Any:
    await dashboard.read_objects()
    return dashboard.objects(query(**values))


async def test_the_overview_has_the_controllers_and_the_watches(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    for name in "abc":
        await pilotage_env.client.create(new_book(name))
    await pilotage_env.run_until_idle()
    found = dashboard.overview(query())
    (controller,) = found.controllers
    assert (controller.name, controller.kind, controller.workers, controller.errors) == ("books", KIND, 1, 0)
    assert controller.rate > 0
    assert controller.series is not None
    assert sum(controller.series.rate) > 0
    assert {watch.kind: (watch.objects, watch.live) for watch in found.watches} == {
        KIND: (3, True),
        "ConfigMap": (3, True),
    }
    assert (found.leader.state, found.shards, found.attention) == ("off", (), ())
    assert found.now == pilotage_env.clock()
    assert b'"from":' in encode(found)


async def test_an_object_that_fails_needs_attention(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    await pilotage_env.client.create(new_book("bad", title=""))
    with pytest.raises(pt.NotIdle):
        await pilotage_env.run_until_idle(timeout=30)
    (item,) = dashboard.overview(query()).attention
    assert (item.level, item.title, item.kind) == ("error", "books default/bad", KIND)
    assert "RuntimeError: the book has no title" in item.text
    assert item.next is not None
    assert item.next > pilotage_env.clock()
    assert "program.py:" in item.place
    assert item.reconcile == dashboard.reconciles(query(limit="1")).rows[0].number
    (row,) = (await objects(dashboard)).rows
    assert (row.state, row.last, row.next) == (State("failing", "error"), item.reconcile, item.next)


async def test_a_watch_that_fails_needs_attention(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    await pilotage_env.run_until_idle()
    assert dashboard.overview(query()).attention == ()
    informer = pilotage_env.manager.cache.informer(Book)
    assert informer is not None
    informer.informers[0]._progress.live = False
    (item,) = dashboard.overview(query()).attention
    assert (item.level, item.title) == ("error", f"watch of {KIND}")
    assert "no watch is open since" in item.text


async def test_objects_are_listed_below_their_owners(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    await pilotage_env.client.create(new_book("a"))
    await pilotage_env.client.create(new_book("b"))
    await pilotage_env.run_until_idle()
    found = await objects(dashboard)
    assert [(row.kind, row.name, row.depth) for row in found.rows] == [
        (KIND, "a", 0),
        ("ConfigMap", "a", 1),
        (KIND, "b", 0),
        ("ConfigMap", "b", 1),
    ]
    assert found.rows[1].owner == Owner(KIND, "default", "a")
    assert found.rows[0].last_result == "success"
    assert found.rows[0].age is not None
    assert [(count.kind, count.count) for count in found.kinds] == [(KIND, 2), ("ConfigMap", 2)]


async def test_objects_are_searched_and_sent_in_pages(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    for name in ("a", "b", "c"):
        await pilotage_env.client.create(new_book(name, title="Dubliners" if name == "c" else "Ulysses"))
    await pilotage_env.run_until_idle()
    found = await objects(dashboard, search="ulysses", kind=KIND, limit="1", offset="1")
    assert (found.total, [row.name for row in found.rows]) == (2, ["b"])
    assert (await objects(dashboard, search="nothing")).rows == ()


async def test_an_object_has_its_reconciles_and_versions(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    await pilotage_env.client.create(new_book())
    await pilotage_env.run_until_idle()
    await pilotage_env.client.patch(Book, {"spec": {"title": "Dubliners"}}, name="a", namespace="default")
    await pilotage_env.run_until_idle()
    await dashboard.read_objects()
    found = dashboard.object(query(kind=KIND, namespace="default", name="a"))
    assert found.document["spec"] == {"title": "Dubliners"}
    assert "managedFields" not in found.document["metadata"]  # type: ignore[operator]  # a document
    assert [run.number for run in found.reconciles] == sorted((run.number for run in found.reconciles), reverse=True)
    assert [[str(change) for change in version.changes] for version in found.versions] == [
        ["spec.title: 'Ulysses' → 'Dubliners'"],
        [],
    ]
    config = dashboard.object(query(kind="ConfigMap", namespace="default", name="a"))
    assert config.versions[0].reconcile == found.reconciles[0].number or config.versions[0].reconcile > 0
    with pytest.raises(NotFoundInHistory, match="there is no ConfigMap default/z"):
        dashboard.object(query(kind="ConfigMap", namespace="default", name="z"))
    with pytest.raises(BadQuery, match="name is missing"):
        dashboard.object(query(kind="ConfigMap"))


async def test_the_past_has_the_objects_of_then(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    await pilotage_env.client.create(new_book("a"))
    await pilotage_env.client.create(new_book("b"))
    await pilotage_env.run_until_idle()
    await asyncio.sleep(100)
    then = pilotage_env.clock().isoformat()
    await asyncio.sleep(100)
    await pilotage_env.client.patch(Book, {"spec": {"title": "Dubliners"}}, name="a", namespace="default")
    await pilotage_env.client.delete(Book, "b", namespace="default")
    await pilotage_env.client.create(new_book("c", title=""))
    with pytest.raises(pt.NotIdle):
        await pilotage_env.run_until_idle(timeout=30)
    now = await objects(dashboard, kind=KIND)
    assert [row.name for row in now.rows] == ["a", "c"]
    past = await objects(dashboard, kind=KIND, at=then)
    assert [(row.name, row.state.word) for row in past.rows] == [("a", "exists"), ("b", "exists")]
    found = dashboard.object(query(kind=KIND, namespace="default", name="a", at=then))
    assert found.document["spec"] == {"title": "Ulysses"}
    assert len(found.versions) == 1
    assert {run.number for run in found.reconciles} < {run.number for run in _reconciles(dashboard, "a")}
    assert [item.title for item in dashboard.overview(query()).attention] == ["books default/c"]
    overview = dashboard.overview(query(at=then))
    assert (overview.attention, overview.now.isoformat()) == ((), then)
    assert overview.controllers[0].rate == 0.0
    assert overview.controllers[0].last is not None


def _reconciles(dashboard: Dashboard, name: str) -> tuple[Any, ...]:
    return dashboard.reconciles(query(name=name)).rows


async def test_before_the_history_there_is_its_beginning(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    await pilotage_env.client.create(new_book())
    await pilotage_env.run_until_idle()
    found = dashboard.overview(query(at="1999-01-01T00:00:00Z"))
    assert found.now == found.since


async def test_reconciles_are_listed_the_newest_first(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    for name in "abc":
        await pilotage_env.client.create(new_book(name))
    await pilotage_env.run_until_idle()
    every = dashboard.reconciles(query())
    numbers = [row.number for row in every.rows]
    assert numbers == sorted(numbers, reverse=True)
    assert every.total == len(numbers)
    page = dashboard.reconciles(query(before=str(numbers[0]), limit="2"))
    assert [row.number for row in page.rows] == numbers[1:3]
    assert {row.name for row in dashboard.reconciles(query(name="b", kind=KIND, namespace="default")).rows} == {"b"}
    assert dashboard.reconciles(query(controller="other")).rows == ()
    first = every.rows[-1]
    assert first.because == "Book default/a existed at the start"
    assert (first.writes, first.result, first.error) == (1, "success", "")


async def test_a_reconcile_is_shown_as_values_and_as_lines(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    await pilotage_env.client.create(new_book())
    await pilotage_env.run_until_idle()
    story = dashboard.reconcile(1)
    words = [word for word, _ in story.lines]
    assert words == ["", "because", "read", "read", "wrote", "result"]
    document = msgspec.json.decode(encode(story))
    assert document["number"] == 1
    assert document["lines"][1] == ["because", "Book default/a existed at the start"]
    with pytest.raises(NotFoundInHistory, match="reconcile #99 is not in the history"):
        dashboard.reconcile(99)


async def test_the_timeline_links_events_reconciles_and_writes(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    await pilotage_env.client.create(new_book())
    await pilotage_env.run_until_idle()
    found = dashboard.timeline(query())
    first, second = found.bars
    assert (first.lane, first.key, first.caused_by) == ("books", "default/a", ())
    assert second.caused_by == (first.number,)  # the event of its own write
    assert [(write.verb, write.kind, write.name, write.reconcile) for write in found.writes] == [
        ("create", "ConfigMap", "a", first.number)
    ]
    assert [(event.kind, event.type, event.reconciles) for event in found.events] == [
        (KIND, "initial", (first.number,)),
        ("ConfigMap", "create", (second.number,)),
    ]
    assert not found.more
    only = dashboard.timeline(query(kind="ConfigMap", namespace="default", name="a"))
    assert [bar.number for bar in only.bars] == [first.number, second.number]
    assert [event.kind for event in only.events] == ["ConfigMap"]


async def test_the_timeline_has_a_bound(pilotage_env: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pilotage.dashboard.timeline.MOST", 3)
    dashboard = await set_up(pilotage_env)
    for name in "abcdef":
        await pilotage_env.client.create(new_book(name))
    await pilotage_env.run_until_idle()
    found = dashboard.timeline(query())
    assert found.more
    assert (len(found.bars), len(found.events) <= 3) == (3, True)
    assert found.bars[-1].number == dashboard.reconciles(query()).rows[0].number
    nothing = dashboard.timeline(query(since="1999-01-01T00:00:00Z", to="1999-01-02T00:00:00Z"))
    assert (nothing.bars, nothing.events, nothing.writes, nothing.more) == ((), (), (), False)
    with pytest.raises(BadQuery, match="later"):
        dashboard.timeline(query(since="1999-01-02T00:00:00Z", to="1999-01-01T00:00:00Z"))


async def test_secrets_are_hidden(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    pt.ControllerBuilder(pilotage_env.manager).for_(Secret).complete(_nothing)
    meta = pt.ObjectMeta(name="password", namespace="default")
    await pilotage_env.client.create(Secret(metadata=meta, string_data={"password": "hunter2"}))
    await pilotage_env.run_until_idle()
    await pilotage_env.client.patch(
        Secret, {"stringData": {"password": "hunter3"}}, name="password", namespace="default"
    )
    await pilotage_env.run_until_idle()
    await dashboard.read_objects()
    found = dashboard.object(query(kind="Secret", namespace="default", name="password"))
    shown = [
        found,
        dashboard.test(query(kind="Secret", namespace="default", name="password")),
        dashboard.overview(query()),
    ]
    shown += [dashboard.reconcile(row.number) for row in dashboard.reconciles(query()).rows]
    text = encode(shown).decode()
    for hidden in ("hunter", "aHVudGVy"):
        assert hidden not in text
        assert (await objects(dashboard, search=hidden)).rows == ()
    assert found.versions[0].changes[0].path == "data.password"


async def _nothing(request: pt.Request) -> None:
    pass


async def test_a_test_begins_with_the_object_as_it_was(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    await pilotage_env.client.create(new_book("a-b", title="'''\n\""))
    await pilotage_env.run_until_idle()
    await dashboard.read_objects()
    source = dashboard.test(query(kind=KIND, namespace="default", name="a-b"))
    compile(source, "test.py", "exec")
    assert "async def test_book_a_b(" in source
    assert f"from {Book.__module__} import Book" in source
    assert "resourceVersion" not in source
    config = dashboard.test(query(kind="ConfigMap", namespace="default", name="a-b"))
    assert "ownerReferences" not in config
    assert "import ConfigMap" not in config


async def test_a_standby_shows_who_leads(pilotage_env: Environment) -> None:
    options = pt.ManagerOptions(leader_election=True, leader_election_id="lead", handle_signals=False)
    await pilotage_env.client.create(_lease())
    async with pt.Manager(pilotage_env.cluster, options) as manager:
        dashboard = Dashboard(Sources(manager, manager._lifecycle, asyncio.get_running_loop().time))
        running = asyncio.create_task(manager.start())
        await asyncio.sleep(3)
        found = dashboard.overview(query())
        assert (found.leader.state, found.leader.holder) == ("waiting", "other")
        assert [(item.level, item.title) for item in found.attention] == [("warning", "not leading")]
        assert "other" in found.attention[0].text
        running.cancel()
        await asyncio.wait([running])


def _lease() -> Any:
    spec = {"holderIdentity": "other", "leaseDurationSeconds": 3600, "renewTime": "2024-01-01T00:00:00.000000Z"}
    metadata = {"name": "lead", "namespace": "default"}
    return pt.Unstructured(
        {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata, "spec": spec}
    )


async def test_gpus_are_shown_with_their_health(pilotage_env: Environment) -> None:
    dashboard = await set_up(pilotage_env)
    pt.ControllerBuilder(pilotage_env.manager).for_(GPU).complete(_nothing)
    await pilotage_env.given(GPU(metadata=pt.ObjectMeta(name="gpu-0"), spec=GPUSpec(uuid="GPU-1")))
    await pilotage_env.run_until_idle()
    await dashboard.read_objects()
    (row,) = dashboard.gpus(query()).rows
    assert (row.kind, row.name, row.uuid) == (str(GPU.__resource__.gvk.group_kind), "gpu-0", "GPU-1")
