"""Create or update, on every API server."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pilotage.client import Client
from pilotage.client.outcome import Outcome, create_or_patch, create_or_update
from pilotage.errors import AlreadyExists, BadRequest, Conflict, Invalid, InvalidDefinition, NotFound
from pilotage.meta.models import ObjectMeta, OwnerReference
from pilotage.meta.owners import AlreadyOwned, controller_of
from pilotage.meta.scalars.quantity import Quantity
from pilotage.meta.unstructured import Unstructured
from pilotage.rest import APIRequest, Response, Transport, TransportWrapper, Verb
from pilotage.types.apps.v1 import StatefulSet, StatefulSetSpec
from pilotage.types.core.v1 import ConfigMap, Container, PodSpec, PodTemplateSpec, ResourceRequirements, Secret
from pilotage.types.meta.v1 import LabelSelector

from ..worlds import World
from .fakes import Recorder
from .kinds import GADGETS, WIDGET, WIDGETS, Gadget, GadgetState, Widget, WidgetStatus, new_widget, widget_document

WRITES = (Verb.CREATE, Verb.UPDATE, Verb.PATCH, Verb.DELETE)


class Spy(TransportWrapper):
    """Passes every call on and records the writes; may call a function before each."""

    def __init__(self, inner: Transport) -> None:
        super().__init__(inner)
        self.writes: list[APIRequest] = []

    async def before(self, request: APIRequest) -> None:
        pass

    async def call(self, request: APIRequest) -> Response:
        if request.verb in WRITES:
            self.writes.append(request)
            await self.before(request)
        return await self._inner.call(request)


def stateful_set(namespace: str, *, image: str = "postgres", replicas: int = 1, memory: str = "") -> StatefulSet:
    labels = {"app": "db"}
    resources = ResourceRequirements(limits={"memory": Quantity(memory)}) if memory else None
    container = Container(name="database", image=image, resources=resources)
    return StatefulSet(
        metadata=ObjectMeta(name="db", namespace=namespace, labels=labels),
        spec=StatefulSetSpec(
            replicas=replicas,
            service_name="db",
            selector=LabelSelector(match_labels=labels),
            template=PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=PodSpec(containers=[container])),
        ),
    )


@pytest.mark.covers("T169")
async def test_a_built_in_object_is_created_then_unchanged_then_updated(world: World) -> None:
    spy = Spy(world.transport)
    client = Client(spy)
    owner = await client.create(ConfigMap(metadata=ObjectMeta(name="owner", namespace=world.namespace)))
    spy.writes.clear()
    desired = stateful_set(world.namespace, memory="1000Mi")
    assert await create_or_patch(client, desired, owner=owner) is Outcome.CREATED
    assert desired.metadata.uid
    reference = controller_of(desired)
    assert reference is not None
    assert (reference.kind, reference.name, reference.block_owner_deletion) == ("ConfigMap", "owner", True)

    again = stateful_set(world.namespace, memory="1048576000")  # the same quantity, spelled otherwise
    assert await create_or_patch(client, again, owner=owner) is Outcome.UNCHANGED
    assert again.metadata.resource_version == desired.metadata.resource_version
    assert [request.verb for request in spy.writes] == [Verb.CREATE]

    assert await create_or_patch(client, stateful_set(world.namespace, image="mysql"), owner=owner) is Outcome.UPDATED
    assert [request.verb for request in spy.writes] == [Verb.CREATE, Verb.PATCH]
    found = await client.get(StatefulSet, "db", namespace=world.namespace)
    assert found.spec is not None
    assert found.spec.template.spec is not None
    (container,) = found.spec.template.spec.containers
    assert container.image == "mysql"
    assert container.resources is not None
    assert container.resources.limits == {"memory": Quantity("1000Mi")}, "what was not said stays"


async def test_what_others_have_added_stays(world: World) -> None:
    await create_or_patch(world.client, stateful_set(world.namespace))
    side_car = {"name": "proxy", "image": "envoy"}
    patch = {
        "metadata": {"labels": {"theirs": "yes"}, "finalizers": ["tests.pilotage.dev/theirs"]},
        "spec": {"template": {"spec": {"containers": [{"name": "database", "image": "postgres"}, side_car]}}},
    }
    await world.client.patch(StatefulSet, patch, name="db", namespace=world.namespace)
    desired = stateful_set(world.namespace, image="mysql")
    desired.metadata.finalizers = ["tests.pilotage.dev/ours"]
    assert await create_or_patch(world.client, desired) is Outcome.UPDATED
    assert desired.metadata.labels == {"app": "db", "theirs": "yes"}
    assert desired.metadata.finalizers == ["tests.pilotage.dev/theirs", "tests.pilotage.dev/ours"]
    assert desired.spec is not None
    assert desired.spec.template.spec is not None
    images = {container.name: container.image for container in desired.spec.template.spec.containers}
    assert images == {"database": "mysql", "proxy": "envoy"}


async def test_a_custom_object_takes_a_merge_patch(world: World) -> None:
    await world.install(WIDGETS)
    await world.client.create(widget_document(world.namespace, note="theirs", tags=["a"]))
    desired = new_widget(world.namespace, size=2, tags=["b"])
    assert await create_or_patch(world.client, desired) is Outcome.UPDATED
    found = await world.client.get(WIDGET, "one", namespace=world.namespace)
    assert found["spec"] == {"size": 2, "tags": ["b"], "note": "theirs", "mode": "fast"}
    assert await create_or_patch(world.client, new_widget(world.namespace, size=2)) is Outcome.UNCHANGED


async def test_documents_without_a_class_are_brought_in_line_too(world: World) -> None:
    await world.install(WIDGETS)
    assert await create_or_patch(world.client, widget_document(world.namespace, note="x")) is Outcome.CREATED
    assert await create_or_patch(world.client, widget_document(world.namespace, note="x")) is Outcome.UNCHANGED
    document = widget_document(world.namespace, note="y")
    assert await create_or_patch(world.client, document) is Outcome.UPDATED
    assert document["spec"]["mode"] == "fast", "it is what the server answered"
    config = Unstructured(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": world.namespace}}
    )
    config["data"] = {"a": "1"}
    assert await create_or_patch(world.client, config) is Outcome.CREATED
    assert await create_or_patch(world.client, config) is Outcome.UNCHANGED


@pytest.mark.covers("T169")
async def test_the_status_is_written_through_its_subresource(world: World) -> None:
    await world.install(WIDGETS)

    def wanted(size: int, phase: str) -> Widget:
        widget = new_widget(world.namespace, size=size)
        widget.status = WidgetStatus(phase=phase)
        return widget

    created = wanted(1, "New")
    assert await create_or_patch(world.client, created) is Outcome.CREATED
    assert created.status == WidgetStatus(phase="New")
    assert await create_or_patch(world.client, wanted(1, "New")) is Outcome.UNCHANGED
    assert await create_or_patch(world.client, wanted(1, "Up")) is Outcome.UPDATED_STATUS_ONLY
    assert await create_or_patch(world.client, wanted(2, "Down")) is Outcome.UPDATED_STATUS
    assert await create_or_patch(world.client, wanted(3, "Down")) is Outcome.UPDATED
    found = await world.client.get(Widget, "one", namespace=world.namespace)
    assert (found.spec.size, found.status) == (3, WidgetStatus(phase="Down"))


async def test_a_status_that_is_no_subresource_is_part_of_the_object(world: World) -> None:
    await world.install(GADGETS)
    metadata = ObjectMeta(name="one", namespace=world.namespace)
    assert await create_or_patch(world.client, Gadget(metadata=metadata)) is Outcome.CREATED
    changed = Gadget(metadata=metadata, status=GadgetState(phase="Up"))
    assert await create_or_patch(world.client, changed) is Outcome.UPDATED
    assert (await world.client.get(Gadget, "one", namespace=world.namespace)).status == GadgetState(phase="Up")


async def test_a_secret_given_as_text_is_unchanged_the_second_time(world: World) -> None:
    def secret() -> Secret:
        metadata = ObjectMeta(name="s", namespace=world.namespace)
        return Secret(metadata=metadata, string_data={"password": "correct horse"})

    assert await create_or_patch(world.client, secret()) is Outcome.CREATED
    assert await create_or_patch(world.client, secret()) is Outcome.UNCHANGED


@pytest.mark.covers("T169")
async def test_a_function_changes_what_is_there(world: World) -> None:
    await world.install(WIDGETS)

    async def grow(widget: Widget) -> None:
        widget.spec.size += 1

    assert await create_or_patch(world.client, new_widget(world.namespace), mutate=grow) is Outcome.CREATED
    given = new_widget(world.namespace, size=9)
    assert await create_or_patch(world.client, given, mutate=grow) is Outcome.UPDATED
    assert given.spec.size == 3, "the function is given what is there, not what would be created"
    assert await create_or_patch(world.client, given, mutate=lambda widget: None) is Outcome.UNCHANGED


async def test_the_namespace_may_be_left_to_the_client(world: World) -> None:
    await world.install(WIDGETS)
    client = world.client.with_namespace(world.namespace)
    owner = await client.create(ConfigMap(metadata=ObjectMeta(name="o")))

    def grow(widget: Widget) -> None:
        widget.spec.size += 1

    assert await create_or_patch(client, new_widget(""), owner=owner) is Outcome.CREATED
    assert await create_or_patch(client, new_widget(""), owner=owner) is Outcome.UNCHANGED
    assert await create_or_patch(client, new_widget(""), mutate=grow, owner=owner) is Outcome.UPDATED
    assert (await client.get(Widget, "one")).spec.size == 2


@pytest.mark.covers("T169")
async def test_a_function_that_renames_or_fails_changes_nothing(world: World) -> None:
    await world.install(WIDGETS)
    await world.client.create(new_widget(world.namespace))

    def rename(widget: Widget) -> None:
        widget.metadata.name = "two"

    def fail(widget: Widget) -> None:
        widget.spec.size = 5
        raise ValueError("no")

    for function in (create_or_patch, create_or_update):
        with pytest.raises(InvalidDefinition, match="must stay"):
            await function(world.client, new_widget(world.namespace), mutate=rename)
        with pytest.raises(ValueError, match="no"):
            await function(world.client, new_widget(world.namespace), mutate=fail)
    assert (await world.client.get(Widget, "one", namespace=world.namespace)).spec.size == 1


@pytest.mark.covers("T169")
async def test_create_or_update_writes_only_what_changed(world: World) -> None:
    await world.install(WIDGETS)
    spy = Spy(world.transport)
    client = Client(spy)

    def size_two(widget: Widget) -> None:
        widget.spec.size = 2

    assert await create_or_update(client, new_widget(world.namespace), size_two) is Outcome.CREATED
    assert await create_or_update(client, new_widget(world.namespace), size_two) is Outcome.UNCHANGED
    assert [request.verb for request in spy.writes] == [Verb.CREATE]
    updated = new_widget(world.namespace)
    owner = await world.client.create(ConfigMap(metadata=ObjectMeta(name="o", namespace=world.namespace)))
    assert await create_or_update(client, updated, size_two, owner=owner) is Outcome.UPDATED
    assert controller_of(updated) is not None


@pytest.mark.covers("T168", "T169")
async def test_an_object_of_another_controller_is_left_alone(world: World) -> None:
    await world.install(WIDGETS)
    mine = await world.client.create(ConfigMap(metadata=ObjectMeta(name="mine", namespace=world.namespace)))
    theirs = await world.client.create(ConfigMap(metadata=ObjectMeta(name="theirs", namespace=world.namespace)))
    await create_or_patch(world.client, new_widget(world.namespace), owner=theirs)
    before = await world.client.get(Widget, "one", namespace=world.namespace)
    with pytest.raises(AlreadyOwned, match="theirs"):
        await create_or_patch(world.client, new_widget(world.namespace, size=4), owner=mine)
    after = await world.client.get(Widget, "one", namespace=world.namespace)
    assert after.metadata.resource_version == before.metadata.resource_version


@pytest.mark.parametrize("make", [new_widget, stateful_set], ids=["custom", "built-in"])
async def test_other_owners_stay_and_an_owner_created_again_replaces_the_old_one(
    world: World, make: Callable[[str], Widget | StatefulSet]
) -> None:
    await world.install(WIDGETS)
    owner = await world.client.create(ConfigMap(metadata=ObjectMeta(name="o", namespace=world.namespace)))
    other = await world.client.create(Secret(metadata=ObjectMeta(name="other", namespace=world.namespace)))
    reference = OwnerReference(api_version="v1", kind="Secret", name="other", uid=other.metadata.uid)
    desired = make(world.namespace)
    desired.metadata.owner_references = [reference]
    await create_or_patch(world.client, desired, owner=owner)
    await world.client.delete(owner)
    renewed = await world.client.create(ConfigMap(metadata=ObjectMeta(name="o", namespace=world.namespace)))
    fresh = make(world.namespace)
    assert await create_or_patch(world.client, fresh, owner=renewed) is Outcome.UPDATED
    uids = [(reference.name, reference.uid) for reference in fresh.metadata.owner_references]
    assert sorted(uids) == [("o", renewed.metadata.uid), ("other", other.metadata.uid)]


async def test_a_create_by_another_client_at_the_same_moment_is_no_error(world: World) -> None:
    class Racing(Spy):
        async def before(self, request: APIRequest) -> None:
            if len(self.writes) == 1:
                await world.client.create(ConfigMap(metadata=ObjectMeta(name="c", namespace=world.namespace)))

    desired = ConfigMap(metadata=ObjectMeta(name="c", namespace=world.namespace), data={"a": "1"})
    assert await create_or_patch(Client(Racing(world.transport)), desired) is Outcome.UPDATED
    assert desired.data == {"a": "1"}


async def test_a_delete_by_another_client_at_the_same_moment_is_no_error(world: World) -> None:
    await world.client.create(ConfigMap(metadata=ObjectMeta(name="c", namespace=world.namespace)))

    class Racing(Spy):
        async def before(self, request: APIRequest) -> None:
            if len(self.writes) == 1:
                await world.client.delete(ConfigMap, "c", namespace=world.namespace)

    desired = ConfigMap(metadata=ObjectMeta(name="c", namespace=world.namespace), data={"a": "1"})
    assert await create_or_patch(Client(Racing(world.transport)), desired) is Outcome.CREATED


async def test_a_list_that_another_client_changes_at_the_same_moment_is_not_overwritten(world: World) -> None:
    await world.install(WIDGETS)
    await world.client.create(new_widget(world.namespace))

    class Racing(Spy):
        async def before(self, request: APIRequest) -> None:
            if len(self.writes) == 1:
                tags = {"spec": {"tags": ["their"]}}
                await world.client.patch(Widget, tags, name="one", namespace=world.namespace)

    def tag(widget: Widget) -> None:
        widget.spec.tags.append("ours")

    desired = new_widget(world.namespace)
    assert await create_or_patch(Client(Racing(world.transport)), desired, mutate=tag) is Outcome.UPDATED
    assert desired.spec.tags == ["their", "ours"]


@pytest.mark.covers("T169")
async def test_errors_that_are_no_race_reach_the_caller(world: World) -> None:
    await world.install(WIDGETS)
    with pytest.raises(BadRequest, match=r"set metadata\.name"):
        await create_or_patch(world.client, ConfigMap(metadata=ObjectMeta(generate_name="a", namespace="b")))
    with pytest.raises(Invalid):
        await create_or_patch(world.client, new_widget(world.namespace, size=100))
    nowhere = ConfigMap(metadata=ObjectMeta(name="c", namespace="no-such-namespace"))
    with pytest.raises(NotFound, match="no-such-namespace"):
        await create_or_patch(world.client, nowhere)


async def test_a_race_that_never_ends_is_given_up() -> None:
    class Unlucky(Client):
        async def find(self, *_: object, **__: object) -> Any:
            return None

        async def create(self, obj: Any, **_: object) -> Any:
            tries.append(1)
            error = AlreadyExists("there")
            error.kind, error.name = "ConfigMap", obj.metadata.name
            raise error

    tries: list[int] = []
    with pytest.raises(Conflict):
        await create_or_patch(Unlucky(Recorder()), ConfigMap(metadata=ObjectMeta(name="c", namespace="d")))
    assert len(tries) == 5
