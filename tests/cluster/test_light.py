"""The light tier: the same client and the same answers, without an event loop, a task or a thread."""

from __future__ import annotations

import asyncio
import base64
import os
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

import pilotage as pt
from pilotage.cluster.light import run_now
from pilotage.errors import (
    AlreadyExists,
    Conflict,
    Forbidden,
    Invalid,
    InvalidDefinition,
    NoMatch,
    NotFound,
    StorageError,
    Timeout,
)
from pilotage.meta.kinds import GroupVersionKind
from pilotage.rest import APIRequest, Form, ListOptions, Verb
from pilotage.storage.interface import Storage
from pilotage.types.core.v1 import ConfigMap, Namespace, ResourceQuota, ResourceQuotaSpec, Secret

T = TypeVar("T")


class TodoSpec(pt.Model):
    text: str
    done: bool = False


@pt.resource(group="light.pilotage.dev", version="v1", short_names=["td"], columns=[pt.Column("Text", ".spec.text")])
class Todo(pt.Resource):
    spec: TodoSpec


@pt.resource(group="light.pilotage.dev", version="v1")
class Report(pt.Resource):
    """A kind with a field beside its spec that Status has, too."""

    details: str


class NewSpec(TodoSpec):
    priority: int = 5


@pt.resource(group="light.pilotage.dev", version="v1", kind="Todo", plural="todos", short_names=["td"])
class NewTodo(pt.Resource):
    """The kind as a later release of the program has it."""

    spec: NewSpec


WRONG = {
    "apiVersion": "light.pilotage.dev/v1",
    "kind": "Todo",
    "metadata": {"name": "x", "namespace": "default"},
    "spec": {"text": 1},
}
TODOS = pt.meta.GroupVersionResource("light.pilotage.dev", "v1", "todos")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:{tmp_path / 'todo.db'}"


@pytest.fixture
def cluster(url: str) -> Iterator[pt.LightCluster]:
    with pt.LightCluster(url, kinds=[Todo]) as cluster:
        yield cluster


def todo(name: str, text: str = "buy milk", **metadata: object) -> Todo:
    return Todo(metadata=_metadata({"name": name, "namespace": "default"} | metadata), spec=TodoSpec(text=text))


def _metadata(document: dict[str, object]) -> pt.ObjectMeta:
    return pt.ObjectMeta(**document)  # type: ignore[arg-type]


def names(cluster: pt.LightCluster, **options: object) -> list[str]:
    found = cluster.run(cluster.client.list(Todo, **options))  # type: ignore[arg-type]
    return [one.metadata.name for one in found]


def loaded_a_server(cluster: pt.LightCluster) -> bool:
    return "_server" in vars(cluster.transport)


def test_an_object_is_created_read_patched_applied_and_deleted(cluster: pt.LightCluster) -> None:
    run, client = cluster.run, cluster.client
    made = run(client.create(todo("milk")))
    assert (made.metadata.generation, made.spec.done) == (1, False)
    with pytest.raises(AlreadyExists):
        run(client.create(todo("milk")))
    run(client.patch(made, {"spec": {"done": True}}))
    assert run(client.get(Todo, "milk", namespace="default")).spec.done
    stale = run(client.get(Todo, "milk", namespace="default"))
    made.spec.text = "buy cream"
    run(client.update(made))
    with pytest.raises(Conflict):
        run(client.update(stale))
    run(client.apply(todo("bread", "buy bread"), field_owner="test"))
    assert names(cluster) == ["bread", "milk"]
    run(client.delete(made))
    with pytest.raises(NotFound) as missing:
        run(client.get(Todo, "milk", namespace="default"))
    assert (missing.value.kind, missing.value.name) == ("Todo", "milk")
    with pytest.raises(Invalid):
        run(client.create(pt.Unstructured(WRONG)))


def test_a_read_needs_neither_the_registry_nor_an_event_loop(url: str) -> None:
    with pt.LightCluster(url, kinds=[Todo]) as cluster:
        for number in range(5):
            labels = {"even": str(number % 2 == 0).lower()}
            cluster.run(cluster.client.create(todo(f"t{number}", labels=labels)))
    threads = threading.active_count()
    with pt.LightCluster(url, kinds=[Todo]) as cluster:
        assert names(cluster) == ["t0", "t1", "t2", "t3", "t4"]
        assert names(cluster, labels={"even": "true"}) == ["t0", "t2", "t4"]
        assert names(cluster, fields={"metadata.name": "t3"}) == ["t3"]
        assert names(cluster, namespace="other") == []
        page = cluster.run(cluster.client.list(Todo, limit=2))
        token = page.continue_token
        assert [one.metadata.name for one in page] == ["t0", "t1"]
        assert names(cluster, limit=2, continue_token=token) == ["t2", "t3"]
        assert cluster.run(cluster.client.get(Todo, "t1", namespace="default")).spec.text == "buy milk"
        assert not loaded_a_server(cluster)
        assert threading.active_count() == threads


def test_a_read_gives_what_the_registry_gives(url: str) -> None:
    with pt.LightCluster(url, kinds=[Todo]) as cluster:
        cluster.run(cluster.client.create(todo("milk", labels={"a": "b"})))
    requests = [
        APIRequest(Verb.GET, TODOS, "default", "milk"),
        APIRequest(Verb.GET, TODOS, "default", "milk", form=Form.METADATA),
        APIRequest(Verb.LIST, TODOS, form=Form.TABLE),
        APIRequest(Verb.GET, TODOS, "default", "milk", form=Form.TABLE),
    ]
    lists = [
        APIRequest(Verb.LIST, TODOS),
        APIRequest(Verb.LIST, TODOS, "default", options=ListOptions(label_selector="a=b", limit=1)),
        APIRequest(Verb.LIST, TODOS, options=ListOptions(label_selector="a!=b")),
        APIRequest(Verb.LIST, TODOS, form=Form.METADATA),
    ]

    with pt.LightCluster(url) as cluster:
        calls = [cluster.run(cluster.transport.call(one)) for one in requests]
        pages = [cluster.run(cluster.transport.list(one)) for one in lists]
        assert not loaded_a_server(cluster)
        transport: Any = cluster.transport
        server = transport._server
        assert calls == [cluster.run(server.call(one)) for one in requests]
        assert pages == [cluster.run(server.list(one)) for one in lists]


def test_a_cluster_that_cannot_be_audited_leaves_no_file_open(tmp_path: Path) -> None:
    def opened() -> int:
        return len(os.listdir("/proc/self/fd"))

    url = f"sqlite:{tmp_path}/todo.db"
    pt.LightCluster(url).close()
    before = opened()
    for _ in range(3):
        with pytest.raises(InvalidDefinition):
            pt.LightCluster(url, audit_log_path=str(tmp_path / "audit.log"), audit_policy_file=str(tmp_path / "none"))
    assert opened() == before


def test_a_list_is_printed_as_a_table_with_the_columns_of_the_definition(url: str) -> None:
    with pt.LightCluster(url, kinds=[Todo]) as cluster:
        cluster.run(cluster.client.create(todo("milk")))
        before = _table(cluster)
    with pt.LightCluster(url, kinds=[Todo]) as cluster:
        assert _table(cluster) == before == (["Name", "Text"], [["milk", "buy milk"]])
        assert not loaded_a_server(cluster)


def _table(cluster: pt.LightCluster) -> tuple[list[str], list[list[str]]]:
    request = APIRequest(Verb.LIST, TODOS, "default", form=Form.TABLE)
    table = msgspec.json.decode(cluster.run(cluster.transport.call(request)).body)
    return [column["name"] for column in table["columnDefinitions"]], [row["cells"] for row in table["rows"]]


def test_an_object_of_an_older_definition_is_read_with_the_defaults_of_the_new_one(url: str) -> None:
    with pt.LightCluster(url, kinds=[Todo]) as cluster:
        cluster.run(cluster.client.create(todo("milk")))

    async def upgrade() -> None:
        async with pt.Cluster.embedded(url) as cluster:
            await cluster.install(NewTodo)

    asyncio.run(upgrade())
    with pt.LightCluster(url) as cluster:
        assert cluster.run(cluster.client.get(NewTodo, "milk", namespace="default")).spec.priority == 5
        assert loaded_a_server(cluster)


def test_the_definition_is_installed_where_it_is_missing_and_for_a_new_tenant(url: str) -> None:
    with pt.LightCluster(url) as bare, pytest.raises(NoMatch):
        bare.run(bare.client.list(Todo))
    for tenant in ("default", "other"):
        with pt.LightCluster(url, kinds=[Todo], tenant=tenant) as cluster:
            assert names(cluster) == []
            cluster.run(cluster.client.create(todo(f"in-{tenant}")))
            assert names(cluster) == [f"in-{tenant}"]


def test_kinds_without_a_class_and_built_in_ones_work(cluster: pt.LightCluster) -> None:
    run, client = cluster.run, cluster.client
    run(client.create(todo("milk")))
    gvk = GroupVersionKind("light.pilotage.dev", "v1", "Todo")
    assert run(client.get(gvk, "milk", namespace="default"))["spec"]["text"] == "buy milk"
    assert run(client.rest_mapper.lookup("td")).gvk == gvk
    run(client.create(ConfigMap(metadata=_metadata({"name": "c", "namespace": "default"}), data={"a": "b"})))
    assert run(client.get(ConfigMap, "c", namespace="default")).data == {"a": "b"}


def test_deleting_an_owner_deletes_its_dependents(cluster: pt.LightCluster) -> None:
    run, client = cluster.run, cluster.client
    owner = run(client.create(todo("owner")))
    run(client.create(todo("dependent", owner_references=[_owned_by(owner)])))
    run(client.create(todo("other")))
    run(client.delete(owner))
    assert names(cluster) == ["other"]


def _owned_by(owner: Todo) -> pt.OwnerReference:
    metadata = owner.metadata
    return pt.OwnerReference(api_version="light.pilotage.dev/v1", kind="Todo", name=metadata.name, uid=metadata.uid)


def test_deleting_a_namespace_empties_it(cluster: pt.LightCluster) -> None:
    run, client = cluster.run, cluster.client
    namespace = run(client.create(Namespace(metadata=_metadata({"name": "shop"}))))
    run(client.create(todo("milk", namespace="shop")))
    run(client.delete(namespace))
    assert names(cluster) == []
    assert run(client.find(Namespace, "shop")) is None


@pytest.mark.parametrize("policy", ["Foreground", "Orphan"])
def test_an_object_that_is_deleted_by_a_policy_is_gone_without_dependents_too(
    cluster: pt.LightCluster, policy: str
) -> None:
    run, client = cluster.run, cluster.client
    milk = run(client.create(todo("milk")))
    run(client.delete(milk, propagation_policy=policy))
    assert names(cluster) == []
    run(client.create(todo("bread")))
    run(client.delete_all_of(Todo, namespace="default", propagation_policy=policy))
    assert names(cluster) == []


def test_a_namespace_is_gone_when_the_last_finalizer_in_it_is_removed(cluster: pt.LightCluster) -> None:
    run, client = cluster.run, cluster.client
    namespace = run(client.create(Namespace(metadata=_metadata({"name": "shop"}))))
    milk = run(client.create(todo("milk", namespace="shop", finalizers=["example.com/hold"])))
    run(client.delete(namespace))
    assert names(cluster, namespace="shop") == ["milk"]
    run(client.patch(milk, {"metadata": {"finalizers": None}}))
    assert run(client.find(Namespace, "shop")) is None


def test_what_a_quota_counts_is_counted_after_a_delete(cluster: pt.LightCluster) -> None:
    run, client = cluster.run, cluster.client
    quota = ResourceQuota(
        metadata=_metadata({"name": "few", "namespace": "default"}),
        spec=ResourceQuotaSpec(hard={"count/todos.light.pilotage.dev": pt.Quantity("1")}),
    )
    run(client.create(quota))
    run(client.delete(run(client.create(todo("milk")))))
    run(client.create(todo("bread")))
    with pytest.raises(Forbidden, match="exceeded quota"):
        run(client.create(todo("milk")))


def test_a_create_that_fails_uses_up_no_quota(cluster: pt.LightCluster) -> None:
    run, client = cluster.run, cluster.client
    quota = ResourceQuota(
        metadata=_metadata({"name": "few", "namespace": "default"}),
        spec=ResourceQuotaSpec(hard={"count/todos.light.pilotage.dev": pt.Quantity("2")}),
    )
    run(client.create(quota))
    run(client.create(todo("milk")))
    with pytest.raises(AlreadyExists):
        run(client.create(todo("milk")))
    run(client.create(todo("bread")))


def test_a_deleted_object_may_have_any_fields_beside_its_spec(url: str) -> None:
    with pt.LightCluster(url, kinds=[Report]) as cluster:
        run, client = cluster.run, cluster.client
        for finalizers in ([], ["example.com/hold"]):
            metadata = _metadata({"name": "a", "namespace": "default", "finalizers": finalizers})
            report = run(client.create(Report(metadata=metadata, details="long")))
            run(client.delete(report))
            left = run(client.find(Report, "a", namespace="default"))
            assert (left is not None) == bool(finalizers)


def test_dependents_are_collected_once_for_all_calls_of_a_run(
    cluster: pt.LightCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, client = cluster.run, cluster.client
    owners = [run(client.create(todo(f"owner{number}"))) for number in range(3)]
    for owner in owners:
        run(client.create(todo(f"of-{owner.metadata.name}", owner_references=[_owned_by(owner)])))
    opened: list[Storage | str] = []
    embedded = pt.Cluster.embedded

    def counted(storage: Storage | str, **options: Any) -> pt.Cluster:
        opened.append(storage)
        return embedded(storage, **options)

    monkeypatch.setattr(pt.Cluster, "embedded", counted)

    async def delete_all() -> None:
        for owner in owners:
            await client.delete(owner)
        await client.get(Todo, "missing", namespace="default")

    with pytest.raises(NotFound):  # what was deleted before has its consequences nevertheless
        run(delete_all())
    assert names(cluster) == []
    assert len(opened) == 1


def test_a_write_succeeds_if_what_follows_from_it_cannot_be_done_now(
    cluster: pt.LightCluster, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owner = cluster.run(cluster.client.create(todo("owner")))
    cluster.run(cluster.client.create(todo("dependent", owner_references=[_owned_by(owner)])))

    def busy(storage: Storage | str, **options: Any) -> pt.Cluster:
        raise StorageError("another process holds the lock")

    with monkeypatch.context() as patch:
        patch.setattr(pt.Cluster, "embedded", busy)
        cluster.run(cluster.client.delete(owner))
        with pytest.raises(NotFound):
            cluster.run(cluster.client.get(Todo, "owner", namespace="default"))
    lines = [record.getMessage() for record in caplog.records if record.name == "pilotage.cluster"]
    assert [line.partition(" error=")[2] for line in lines] == ['"StorageError: another process holds the lock"']


@pytest.mark.parametrize("storage", ["sqlite", "memory"])
def test_threads_that_share_it_write_one_at_a_time(url: str, storage: str) -> None:
    def create(thread: int) -> None:
        for number in range(5):
            shared.run(shared.client.create(todo(f"t{thread}-{number}")))

    with pt.LightCluster(url if storage == "sqlite" else "memory:", kinds=[Todo]) as shared:
        with ThreadPoolExecutor(4) as pool:
            for done in [pool.submit(create, thread) for thread in range(4)]:
                done.result()
        assert len(names(shared)) == 20
    if storage == "sqlite":
        with pt.LightCluster(url, kinds=[Todo]) as cluster:
            assert len(names(cluster)) == 20


def test_a_forked_process_is_refused_even_if_a_thread_was_in_a_call(
    cluster: pt.LightCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fork() -> None:
        with monkeypatch.context() as child, ThreadPoolExecutor(1) as thread:
            child.setattr(os, "getpid", lambda: 0)
            with pytest.raises(StorageError, match="before a fork"):
                thread.submit(names, cluster).result(timeout=10)

    cluster.run(fork())


def test_memory_is_a_storage_too() -> None:
    with pt.LightCluster("memory:", kinds=[Todo]) as cluster:
        cluster.run(cluster.client.create(todo("milk")))
        assert names(cluster) == ["milk"]


def test_a_read_at_a_version_of_the_future_is_refused_as_by_a_server(
    cluster: pt.LightCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pilotage.server.verbs.read.WAIT_SECONDS", 0.01)
    cluster.run(cluster.client.create(todo("milk")))
    for match in ("", "Exact", "NotOlderThan"):
        coming = cluster.client.list(
            Todo, namespace="default", resource_version="999999999", resource_version_match=match
        )
        with pytest.raises(Timeout, match="Too large resource version: 999999999"):
            cluster.run(coming)
    with pytest.raises(Timeout, match="Too large resource version: 999999999"):
        cluster.run(cluster.client.get(Todo, "milk", namespace="default", resource_version="999999999"))


def test_calls_that_need_an_event_loop_raise(cluster: pt.LightCluster) -> None:
    with pytest.raises(InvalidDefinition, match="has no watches"):
        cluster.run(_watch(cluster))
    with pytest.raises(InvalidDefinition, match=r"waits for <Future .* needs an event loop"):
        run_now(_wait())
    with pytest.raises(StorageError, match=r"'etcd://a@b' cannot be used without an event loop"):
        pt.LightCluster("etcd://a:secret@b")
    with pytest.raises(InvalidDefinition, match="tenant"):
        pt.LightCluster("memory:", tenant="A/B")


async def _watch(cluster: pt.LightCluster) -> None:
    async with cluster.client.watch(Todo):
        pass


async def _wait() -> None:
    await asyncio.sleep(0)
    loop = asyncio.new_event_loop()
    try:
        await loop.create_future()
    finally:
        loop.close()


def test_a_later_run_gets_what_happened_since_the_version_that_it_last_saw(url: str) -> None:
    async def first() -> str:
        async with pt.Cluster.embedded(url) as cluster:
            await cluster.install(Todo)
            await cluster.client.create(todo("milk"))
            return (await cluster.client.list(Todo)).resource_version

    async def later(version: str) -> list[tuple[str, str]]:
        async with pt.Cluster.embedded(url) as cluster:
            client = cluster.client
            async with client.watch(Todo, resource_version=version) as events:
                return [(event.type, event.object.metadata.name) async for event in _first(events, 3)]

    version = asyncio.run(first())
    with pt.LightCluster(url, kinds=[Todo]) as cluster:  # another program, in between
        milk = cluster.run(cluster.client.get(Todo, "milk", namespace="default"))
        cluster.run(cluster.client.patch(milk, {"spec": {"done": True}}))
        bread = cluster.run(cluster.client.create(todo("bread")))
        cluster.run(cluster.client.delete(milk))
    assert asyncio.run(later(version)) == [("MODIFIED", "milk"), ("ADDED", "bread"), ("DELETED", "milk")]
    assert int(bread.metadata.resource_version) > int(version)


async def test_a_running_program_sees_the_writes_of_a_command_in_its_watch(url: str) -> None:
    async with pt.Cluster.embedded(url) as managed:
        await managed.install(Todo)
        async with managed.client.watch(Todo) as events:
            await asyncio.to_thread(_create_milk, url)
            async for event in _first(events, 1):
                assert (event.type, event.object.metadata.name) == ("ADDED", "milk")


def _create_milk(url: str) -> None:
    with pt.LightCluster(url, kinds=[Todo]) as cluster:
        cluster.run(cluster.client.create(todo("milk")))


async def _first(events: AsyncIterator[T], count: int) -> AsyncIterator[T]:
    for _ in range(count):
        yield await anext(events)


def test_secrets_are_encrypted_with_keys_of_the_program(tmp_path: Path) -> None:
    url, keys = f"sqlite:{tmp_path}/a.db", tmp_path / "keys"
    keys.write_text(f"key1:{base64.b64encode(bytes(range(32))).decode()}\n")
    owner = ConfigMap(metadata=pt.ObjectMeta(name="owner", namespace="default"))
    password = base64.b64encode(b"hunter2-hunter2").decode()
    secret = Secret(metadata=pt.ObjectMeta(name="s", namespace="default"), data={"password": password})
    with pt.LightCluster(url, encryption_keys=str(keys)) as cluster:
        made = cluster.run(cluster.client.create(owner))
        pt.set_owner_reference(made, secret)
        cluster.run(cluster.client.create(secret))
        found = cluster.run(cluster.client.get(Secret, "s", namespace="default"))
        assert found.data == {"password": password}
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("a.db*"))
    assert password.encode() not in stored
    with pt.LightCluster(url) as cluster, pytest.raises(StorageError, match="key1"):
        cluster.run(cluster.client.get(Secret, "s", namespace="default"))
    with pt.LightCluster(url, encryption_keys=str(keys)) as cluster:
        cluster.run(cluster.client.delete(made))  # what it owns is found, and deleted with it
        assert cluster.run(cluster.client.find(Secret, "s", namespace="default")) is None
