"""Defects of designs such as k1s, each shown to be absent, on both storages where the storage matters."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, TypeVar

import pytest

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap, Event, Namespace, Secret

GROUP = "k1s.pilotage.dev"
E = TypeVar("E")


class ItemSpec(pt.Model):
    quantity: Annotated[int, pt.Minimum(0)] = 1
    price: Annotated[int | None, pt.Minimum(0)] = None
    title: Annotated[str, pt.MaxLength(4)] = ""


class ItemStatus(pt.Model):
    count: int = 0


@pt.resource(
    group=GROUP,
    version="v1",
    status=True,
    rules=[pt.Rule("self.spec.title != self.metadata.name", "a title of its own")],
)
class Item(pt.Resource):
    spec: ItemSpec
    status: ItemStatus | None = None


@pt.resource(group=f"other.{GROUP}", version="v1", kind="Item", plural="items")
class OtherItem(pt.Resource):
    spec: ItemSpec


@pt.resource(group=GROUP, version="v1", plural="items2")
class Items2(pt.Resource):
    spec: ItemSpec


@pt.resource(group=GROUP, version="v1", plural="categories")
class Category(pt.Resource):
    spec: ItemSpec


def item(name: str, **values: object) -> Item:
    return Item(metadata=pt.ObjectMeta(name=name, namespace="default"), spec=ItemSpec(**values))  # type: ignore[arg-type]


def config_map(name: str, **data: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default"), data=data)


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return "memory:" if request.param == "memory" else f"sqlite:{tmp_path}/k1s.db"


@asynccontextmanager
async def opened(place: str) -> AsyncIterator[pt.Client]:
    async with pt.Cluster.embedded(place) as cluster:
        await cluster.install(Item, OtherItem, Items2)
        yield cluster.client


@pytest.mark.covers("K1", "K2", "K3")
async def test_a_program_with_all_defaults_starts_stores_and_records_events_and_can_be_opened_again() -> None:
    for _ in range(2):
        async with pt.Manager(pt.Cluster.embedded()) as manager:
            made = config_map("a")
            await manager.client.create(made)
            async with manager.client.watch(Event, namespace="default") as events:
                manager.event_recorder_for("test").event(made, "Normal", "Created", "it is there")
                await manager.run_until_idle(timeout=30)
                assert [event.object.involved_object.name async for event in _first(events, 1)] == ["a"]


@pytest.mark.covers("K5")
async def test_versions_grow_over_runs_and_a_version_of_an_earlier_run_is_valid(tmp_path: Path) -> None:
    versions: list[int] = []
    for name in ("a", "b"):
        async with pt.Cluster.embedded(f"sqlite:{tmp_path}/k1s.db") as cluster:
            listed = await cluster.client.list(ConfigMap, namespace="default")
            made = config_map(name)
            await cluster.client.create(made)
            versions += [int(listed.resource_version), int(made.metadata.resource_version)]
            found = await cluster.client.get(ConfigMap, "a", namespace="default", resource_version=str(versions[1]))
            assert int(found.metadata.resource_version) == versions[1]
    assert versions[0] < versions[1] <= versions[2] < versions[3]


@pytest.mark.covers("K6", "K7", "K10")
async def test_of_many_writers_one_wins_and_the_others_have_a_conflict(place: str) -> None:
    async with opened(place) as client:
        created = await asyncio.gather(*(client.create(item("a")) for _ in range(20)), return_exceptions=True)
        assert sum(isinstance(one, pt.AlreadyExists) for one in created) == 19
        copies = [await client.get(Item, "a", namespace="default") for _ in range(20)]
        for number, copy in enumerate(copies):
            copy.spec.quantity = number + 10
        updated = await asyncio.gather(*(client.update(copy) for copy in copies), return_exceptions=True)
        assert sum(isinstance(one, pt.Conflict) for one in updated) == 19
        with pytest.raises(pt.Conflict):
            await client.delete(Item, "a", namespace="default", uid="another")
        await client.delete(Item, "a", namespace="default", uid=copies[0].metadata.uid)
        assert await client.find(Item, "a", namespace="default") is None


@pytest.mark.covers("K8", "K9", "K24", "K25")
async def test_an_update_is_one_change_with_the_new_content_and_events_are_copies(place: str) -> None:
    async with opened(place) as client:
        made = item("a", quantity=3)
        await client.create(made)
        async with client.watch(Item, namespace="default", resource_version=made.metadata.resource_version) as events:
            made.spec.quantity = 4
            made.metadata.labels = {"new": "yes"}
            await client.update(made)
            made.spec.quantity = 99  # the caller's own
            await client.create(item("b"))
            await client.delete(Item, "b", namespace="default")
            await client.delete(Item, "a", namespace="default")
            seen = [(event.type, event.object) async for event in _first(events, 4)]
        assert [(kind, one.metadata.name) for kind, one in seen] == [
            ("MODIFIED", "a"),
            ("ADDED", "b"),
            ("DELETED", "b"),
            ("DELETED", "a"),
        ]
        assert [one.spec.quantity for _, one in seen] == [4, 1, 1, 4]
        assert all(isinstance(one, Item) and one.metadata.uid for _, one in seen)


@pytest.mark.covers("K11", "K12", "K29", "K41")
async def test_lists_are_typed_selected_and_errors_of_a_bulk_delete_are_raised(place: str) -> None:
    async with opened(place) as client:
        for name in ("a", "b", "c"):
            made = item(name)
            made.metadata.labels = {"name": name}
            await client.create(made)
        assert [one.spec.quantity for one in await client.list(Item)] == [1, 1, 1]
        chosen = await client.list(Item, namespace="default", labels="name!=b,name in (a,b)")
        assert [one.metadata.name for one in chosen] == ["a"]
        with pytest.raises(pt.errors.BadRequest):
            await client.list(Item, namespace="default", labels="name=!=b")
        with pytest.raises(pt.NotFound):
            await client.get(Item, "absent", namespace="default")
        assert await client.find(Item, "absent", namespace="default") is None
        with pytest.raises(pt.NotFound):
            await client.delete(Item, "absent", namespace="default")
        with pytest.raises(pt.errors.BadRequest):
            await client.delete_all_of(Item, namespace="default", labels="name=!=b")
        await client.delete_all_of(Item, namespace="default", labels="name!=b")
        assert [one.metadata.name for one in await client.list(Item)] == ["b"]


@pytest.mark.covers("K15")
async def test_a_moved_file_has_its_objects_and_no_path_in_its_errors(tmp_path: Path) -> None:
    async with pt.Cluster.embedded(f"sqlite:{tmp_path}/one/k1s.db") as cluster:
        await cluster.client.create(config_map("a"))
    shutil.move(tmp_path / "one", tmp_path / "two")
    async with pt.Cluster.embedded(f"sqlite:{tmp_path}/two/k1s.db") as cluster:
        await cluster.client.get(ConfigMap, "a", namespace="default")
        with pytest.raises(pt.NotFound) as raised:
            await cluster.client.get(ConfigMap, "b", namespace="default")
    assert str(tmp_path) not in str(raised.value)


@pytest.mark.covers("K16", "K53")
async def test_equal_plurals_of_two_groups_and_names_with_a_common_beginning_are_apart(place: str) -> None:
    async with opened(place) as client:
        await client.create(OtherItem(metadata=pt.ObjectMeta(name="a", namespace="default"), spec=ItemSpec()))
        await client.create(Items2(metadata=pt.ObjectMeta(name="b", namespace="default"), spec=ItemSpec()))
        assert len(await client.list(Item)) == 0
        for name in ("a#version", "a/b", ""):
            with pytest.raises(pt.PilotageError):
                await client.create(item(name))


@pytest.mark.covers("K19", "K20")
async def test_a_new_object_has_a_new_uid_and_a_write_of_the_status_keeps_the_generation(place: str) -> None:
    async with opened(place) as client:
        made = item("a")
        await client.create(made)
        first = made.metadata.uid
        made.metadata.labels = {"a": "b"}
        await client.update(made)
        made.status = ItemStatus(count=7)
        await client.update(made, subresource="status")
        assert (made.metadata.generation, made.status.count) == (1, 7)
        made.spec.quantity = 5
        await client.update(made)
        assert made.metadata.generation == 2
        await client.delete(made)
        await client.create(again := item("a"))
        assert again.metadata.uid != first


@pytest.mark.covers("K22")
async def test_a_watcher_that_does_not_read_stops_no_writer_and_neither_do_many_initial_events(place: str) -> None:
    async with opened(place) as client:
        for number in range(150):
            await client.create(config_map(f"a-{number}"))
        async with client.watch(ConfigMap, namespace="default") as events:
            for number in range(300):
                await client.create(config_map(f"b-{number}"))
            names = [event.object.metadata.name async for event in _first(events, 450)]
        assert len(set(names)) == 450


@pytest.mark.covers("K23")
async def test_a_watch_continues_where_a_list_ended(place: str) -> None:
    async with opened(place) as client:
        await client.create(item("a"))
        listed = await client.list(Item, namespace="default")
        await client.create(item("b"))
        async with client.watch(Item, namespace="default", resource_version=listed.resource_version) as events:
            assert [event.object.metadata.name async for event in _first(events, 1)] == ["b"]


@pytest.mark.covers("K26")
async def test_a_watch_of_one_name_has_no_events_of_names_that_begin_with_it(place: str) -> None:
    async with opened(place) as client:
        version = (await client.list(Item, namespace="default")).resource_version
        for name in ("a2", "a", "a-b"):
            await client.create(item(name))
        await client.delete(Item, "a", namespace="default")
        one = {"metadata.name": "a"}
        async with client.watch(Item, namespace="default", fields=one, resource_version=version) as events:
            seen = [(event.type, event.object.metadata.name) async for event in _first(events, 2)]
        assert seen == [("ADDED", "a"), ("DELETED", "a")]


@pytest.mark.covers("K27")
async def test_an_informer_finds_a_kind_whose_plural_is_irregular() -> None:
    async with pt.Cluster.embedded() as cluster:
        await cluster.install(Category)
        await cluster.client.create(
            Category(metadata=pt.ObjectMeta(name="a", namespace="default"), spec=ItemSpec(title="food"))
        )
        factory = pt.SharedInformerFactory(cluster)
        typed = factory.lister(Category)
        untyped = factory.lister(pt.GroupVersionKind(GROUP, "v1", "Category"))
        async with factory:
            await factory.wait_for_cache_sync()
            assert typed.get("a", namespace="default").spec.title == "food"
            assert untyped.get("a", namespace="default")["spec"]["title"] == "food"


@pytest.mark.covers("K13", "K28", "K30")
async def test_every_kind_of_patch_changes_its_fields_and_no_others_and_a_dry_run_changes_nothing(place: str) -> None:
    async with opened(place) as client:
        made = item("a", quantity=2, title="old")
        made.metadata.labels = {"old": "yes"}
        await client.create(made)
        await client.patch(made, {"metadata": {"labels": {"old": None, "new": "yes"}}})
        assert made.metadata.labels == {"new": "yes"}  # replaced, not merged
        await client.patch(made, {"spec": {"quantity": 3}})
        await client.patch(made, [{"op": "replace", "path": "/spec/title", "value": "new"}])
        assert (made.spec.quantity, made.spec.title) == (3, "new")
        mine = {"metadata": {"name": "a", "namespace": "default"}, "spec": {"title": "mine"}}
        await client.apply(
            pt.Unstructured({"apiVersion": f"{GROUP}/v1", "kind": "Item", **mine}), field_owner="me", force=True
        )
        made = await client.get(Item, "a", namespace="default")
        assert (made.spec.title, made.spec.quantity, made.metadata.labels) == ("mine", 3, {"new": "yes"})
        version = made.metadata.resource_version
        await client.patch(item("a"), {"spec": {"quantity": 7}}, dry_run=True)
        await client.create(item("b"), dry_run=True)
        found = await client.get(Item, "a", namespace="default")
        assert (found.spec.quantity, found.metadata.resource_version) == (3, version)
        assert await client.find(Item, "b", namespace="default") is None


@pytest.mark.covers("K31", "K32", "K33", "K35")
async def test_rules_hold_without_type_information_and_zero_is_a_value(place: str) -> None:
    async with opened(place) as client:
        made = item("a", quantity=0)
        await client.create(made)
        assert ((await client.get(Item, "a", namespace="default")).spec.quantity, made.spec.price) == (0, None)
        await client.create(item("b", title="äöü€"))  # four characters, nine bytes
        with pytest.raises(pt.Invalid, match=r"spec\.quantity"):
            await client.create(item("c", quantity=-1))
        with pytest.raises(pt.Invalid, match=r"spec\.title"):
            await client.create(item("d", title="five!"))
        with pytest.raises(pt.Invalid, match="a title of its own"):
            await client.create(item("e", title="e"))


@pytest.mark.covers("K38")
async def test_creates_leave_no_event_of_success_whether_they_fail_or_not(place: str) -> None:
    async with opened(place) as client:
        await client.create(item("b"))
        with pytest.raises(pt.Invalid):
            await client.create(item("a", quantity=-1))
        assert len(await client.list(Event, namespace="default")) == 0


@pytest.mark.covers("K52")
async def test_the_namespace_default_is_there(place: str) -> None:
    async with opened(place) as client:
        assert (await client.get(Namespace, "default")).status is not None
        await client.create(Secret(metadata=pt.ObjectMeta(name="a", namespace="default")))


async def _first(events: AsyncIterator[E], count: int) -> AsyncIterator[E]:
    async for event in events:
        if getattr(event, "type", "") != "BOOKMARK":
            yield event
            count -= 1
        if not count:
            return
