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

from ..environments import Environment
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
async def test_a_built_in_object_is_created_then_unchanged_then_updated(environment: Environment) -> None:
    spy = Spy(environment.transport)
    client = Client(spy)
    owner = await client.create(ConfigMap(metadata=ObjectMeta(name="owner", namespace=environment.namespace)))
    spy.writes.clear()
    desired = stateful_set(environment.namespace, memory="1000Mi")
    assert await create_or_patch(client, desired, owner=owner) is Outcome.CREATED
    assert desired.metadata.uid
    reference = controller_of(desired)
    assert reference is not None
    assert (reference.kind, reference.name, reference.block_owner_deletion) == ("ConfigMap", "owner", True)

    again = stateful_set(environment.namespace, memory="1048576000")  # the same quantity, spelled otherwise
    assert await create_or_patch(client, again, owner=owner) is Outcome.UNCHANGED
    assert again.metadata.resource_version == desired.metadata.resource_version
    assert [request.verb for request in spy.writes] == [Verb.CREATE]

    assert (
        await create_or_patch(client, stateful_set(environment.namespace, image="mysql"), owner=owner)
        is Outcome.UPDATED
    )
    assert [request.verb for request in spy.writes] == [Verb.CREATE, Verb.PATCH]
    found = await client.get(StatefulSet, "db", namespace=environment.namespace)
    assert found.spec is not None
    assert found.spec.template.spec is not None
    (container,) = found.spec.template.spec.containers
    assert container.image == "mysql"
    assert container.resources is not None
    assert container.resources.limits == {"memory": Quantity("1000Mi")}, "what was not said stays"


async def test_what_others_have_added_stays(environment: Environment) -> None:
    await create_or_patch(environment.client, stateful_set(environment.namespace))
    side_car = {"name": "proxy", "image": "envoy"}
    patch = {
        "metadata": {"labels": {"theirs": "yes"}, "finalizers": ["tests.pilotage.dev/theirs"]},
        "spec": {"template": {"spec": {"containers": [{"name": "database", "image": "postgres"}, side_car]}}},
    }
    await environment.client.patch(StatefulSet, patch, name="db", namespace=environment.namespace)
    desired = stateful_set(environment.namespace, image="mysql")
    desired.metadata.finalizers = ["tests.pilotage.dev/ours"]
    assert await create_or_patch(environment.client, desired) is Outcome.UPDATED
    assert desired.metadata.labels == {"app": "db", "theirs": "yes"}
    assert desired.metadata.finalizers == ["tests.pilotage.dev/theirs", "tests.pilotage.dev/ours"]
    assert desired.spec is not None
    assert desired.spec.template.spec is not None
    images = {container.name: container.image for container in desired.spec.template.spec.containers}
    assert images == {"database": "mysql", "proxy": "envoy"}


async def test_a_custom_object_takes_a_merge_patch(environment: Environment) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(widget_document(environment.namespace, note="theirs", tags=["a"]))
    desired = new_widget(environment.namespace, size=2, tags=["b"])
    assert await create_or_patch(environment.client, desired) is Outcome.UPDATED
    found = await environment.client.get(WIDGET, "one", namespace=environment.namespace)
    assert found["spec"] == {"size": 2, "tags": ["b"], "note": "theirs", "mode": "fast"}
    assert await create_or_patch(environment.client, new_widget(environment.namespace, size=2)) is Outcome.UNCHANGED


async def test_documents_without_a_class_are_brought_in_line_too(environment: Environment) -> None:
    await environment.install(WIDGETS)
    assert (
        await create_or_patch(environment.client, widget_document(environment.namespace, note="x")) is Outcome.CREATED
    )
    assert (
        await create_or_patch(environment.client, widget_document(environment.namespace, note="x")) is Outcome.UNCHANGED
    )
    document = widget_document(environment.namespace, note="y")
    assert await create_or_patch(environment.client, document) is Outcome.UPDATED
    assert document["spec"]["mode"] == "fast", "it is what the server answered"
    config = Unstructured(
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": environment.namespace}}
    )
    config["data"] = {"a": "1"}
    assert await create_or_patch(environment.client, config) is Outcome.CREATED
    assert await create_or_patch(environment.client, config) is Outcome.UNCHANGED


@pytest.mark.covers("T169")
async def test_the_status_is_written_through_its_subresource(environment: Environment) -> None:
    await environment.install(WIDGETS)

    def wanted(size: int, phase: str) -> Widget:
        widget = new_widget(environment.namespace, size=size)
        widget.status = WidgetStatus(phase=phase)
        return widget

    created = wanted(1, "New")
    assert await create_or_patch(environment.client, created) is Outcome.CREATED
    assert created.status == WidgetStatus(phase="New")
    assert await create_or_patch(environment.client, wanted(1, "New")) is Outcome.UNCHANGED
    assert await create_or_patch(environment.client, wanted(1, "Up")) is Outcome.UPDATED_STATUS_ONLY
    assert await create_or_patch(environment.client, wanted(2, "Down")) is Outcome.UPDATED_STATUS
    assert await create_or_patch(environment.client, wanted(3, "Down")) is Outcome.UPDATED
    found = await environment.client.get(Widget, "one", namespace=environment.namespace)
    assert (found.spec.size, found.status) == (3, WidgetStatus(phase="Down"))


async def test_a_status_that_is_no_subresource_is_part_of_the_object(environment: Environment) -> None:
    await environment.install(GADGETS)
    metadata = ObjectMeta(name="one", namespace=environment.namespace)
    assert await create_or_patch(environment.client, Gadget(metadata=metadata)) is Outcome.CREATED
    changed = Gadget(metadata=metadata, status=GadgetState(phase="Up"))
    assert await create_or_patch(environment.client, changed) is Outcome.UPDATED
    assert (await environment.client.get(Gadget, "one", namespace=environment.namespace)).status == GadgetState(
        phase="Up"
    )


async def test_a_secret_given_as_text_is_unchanged_the_second_time(environment: Environment) -> None:
    def secret() -> Secret:
        metadata = ObjectMeta(name="s", namespace=environment.namespace)
        return Secret(metadata=metadata, string_data={"password": "correct horse"})

    assert await create_or_patch(environment.client, secret()) is Outcome.CREATED
    assert await create_or_patch(environment.client, secret()) is Outcome.UNCHANGED


@pytest.mark.covers("T169")
async def test_a_function_changes_what_is_there(environment: Environment) -> None:
    await environment.install(WIDGETS)

    async def grow(widget: Widget) -> None:
        widget.spec.size += 1

    assert await create_or_patch(environment.client, new_widget(environment.namespace), mutate=grow) is Outcome.CREATED
    given = new_widget(environment.namespace, size=9)
    assert await create_or_patch(environment.client, given, mutate=grow) is Outcome.UPDATED
    assert given.spec.size == 3, "the function is given what is there, not what would be created"
    assert await create_or_patch(environment.client, given, mutate=lambda widget: None) is Outcome.UNCHANGED


async def test_the_namespace_may_be_left_to_the_client(environment: Environment) -> None:
    await environment.install(WIDGETS)
    client = environment.client.with_namespace(environment.namespace)
    owner = await client.create(ConfigMap(metadata=ObjectMeta(name="o")))

    def grow(widget: Widget) -> None:
        widget.spec.size += 1

    assert await create_or_patch(client, new_widget(""), owner=owner) is Outcome.CREATED
    assert await create_or_patch(client, new_widget(""), owner=owner) is Outcome.UNCHANGED
    assert await create_or_patch(client, new_widget(""), mutate=grow, owner=owner) is Outcome.UPDATED
    assert (await client.get(Widget, "one")).spec.size == 2


@pytest.mark.covers("T169")
async def test_a_function_that_renames_or_fails_changes_nothing(environment: Environment) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(new_widget(environment.namespace))

    def rename(widget: Widget) -> None:
        widget.metadata.name = "two"

    def fail(widget: Widget) -> None:
        widget.spec.size = 5
        raise ValueError("no")

    for function in (create_or_patch, create_or_update):
        with pytest.raises(InvalidDefinition, match="must stay"):
            await function(environment.client, new_widget(environment.namespace), mutate=rename)
        with pytest.raises(ValueError, match="no"):
            await function(environment.client, new_widget(environment.namespace), mutate=fail)
    assert (await environment.client.get(Widget, "one", namespace=environment.namespace)).spec.size == 1


@pytest.mark.covers("T169")
async def test_create_or_update_writes_only_what_changed(environment: Environment) -> None:
    await environment.install(WIDGETS)
    spy = Spy(environment.transport)
    client = Client(spy)

    def size_two(widget: Widget) -> None:
        widget.spec.size = 2

    assert await create_or_update(client, new_widget(environment.namespace), size_two) is Outcome.CREATED
    assert await create_or_update(client, new_widget(environment.namespace), size_two) is Outcome.UNCHANGED
    assert [request.verb for request in spy.writes] == [Verb.CREATE]
    updated = new_widget(environment.namespace)
    owner = await environment.client.create(ConfigMap(metadata=ObjectMeta(name="o", namespace=environment.namespace)))
    assert await create_or_update(client, updated, size_two, owner=owner) is Outcome.UPDATED
    assert controller_of(updated) is not None


@pytest.mark.covers("T168", "T169")
async def test_an_object_of_another_controller_is_left_alone(environment: Environment) -> None:
    await environment.install(WIDGETS)
    mine = await environment.client.create(ConfigMap(metadata=ObjectMeta(name="mine", namespace=environment.namespace)))
    theirs = await environment.client.create(
        ConfigMap(metadata=ObjectMeta(name="theirs", namespace=environment.namespace))
    )
    await create_or_patch(environment.client, new_widget(environment.namespace), owner=theirs)
    before = await environment.client.get(Widget, "one", namespace=environment.namespace)
    with pytest.raises(AlreadyOwned, match="theirs"):
        await create_or_patch(environment.client, new_widget(environment.namespace, size=4), owner=mine)
    after = await environment.client.get(Widget, "one", namespace=environment.namespace)
    assert after.metadata.resource_version == before.metadata.resource_version


@pytest.mark.parametrize("make", [new_widget, stateful_set], ids=["custom", "built-in"])
async def test_other_owners_stay_and_an_owner_created_again_replaces_the_old_one(
    environment: Environment, make: Callable[[str], Widget | StatefulSet]
) -> None:
    await environment.install(WIDGETS)
    owner = await environment.client.create(ConfigMap(metadata=ObjectMeta(name="o", namespace=environment.namespace)))
    other = await environment.client.create(Secret(metadata=ObjectMeta(name="other", namespace=environment.namespace)))
    reference = OwnerReference(api_version="v1", kind="Secret", name="other", uid=other.metadata.uid)
    desired = make(environment.namespace)
    desired.metadata.owner_references = [reference]
    await create_or_patch(environment.client, desired, owner=owner)
    await environment.client.delete(owner)
    renewed = await environment.client.create(ConfigMap(metadata=ObjectMeta(name="o", namespace=environment.namespace)))
    fresh = make(environment.namespace)
    assert await create_or_patch(environment.client, fresh, owner=renewed) is Outcome.UPDATED
    uids = [(reference.name, reference.uid) for reference in fresh.metadata.owner_references]
    assert sorted(uids) == [("o", renewed.metadata.uid), ("other", other.metadata.uid)]


async def test_a_create_by_another_client_at_the_same_moment_is_no_error(environment: Environment) -> None:
    class Racing(Spy):
        async def before(self, request: APIRequest) -> None:
            if len(self.writes) == 1:
                await environment.client.create(
                    ConfigMap(metadata=ObjectMeta(name="c", namespace=environment.namespace))
                )

    desired = ConfigMap(metadata=ObjectMeta(name="c", namespace=environment.namespace), data={"a": "1"})
    assert await create_or_patch(Client(Racing(environment.transport)), desired) is Outcome.UPDATED
    assert desired.data == {"a": "1"}


async def test_a_delete_by_another_client_at_the_same_moment_is_no_error(environment: Environment) -> None:
    await environment.client.create(ConfigMap(metadata=ObjectMeta(name="c", namespace=environment.namespace)))

    class Racing(Spy):
        async def before(self, request: APIRequest) -> None:
            if len(self.writes) == 1:
                await environment.client.delete(ConfigMap, "c", namespace=environment.namespace)

    desired = ConfigMap(metadata=ObjectMeta(name="c", namespace=environment.namespace), data={"a": "1"})
    assert await create_or_patch(Client(Racing(environment.transport)), desired) is Outcome.CREATED


async def test_a_list_that_another_client_changes_at_the_same_moment_is_not_overwritten(
    environment: Environment,
) -> None:
    await environment.install(WIDGETS)
    await environment.client.create(new_widget(environment.namespace))

    class Racing(Spy):
        async def before(self, request: APIRequest) -> None:
            if len(self.writes) == 1:
                tags = {"spec": {"tags": ["their"]}}
                await environment.client.patch(Widget, tags, name="one", namespace=environment.namespace)

    def tag(widget: Widget) -> None:
        widget.spec.tags.append("ours")

    desired = new_widget(environment.namespace)
    assert await create_or_patch(Client(Racing(environment.transport)), desired, mutate=tag) is Outcome.UPDATED
    assert desired.spec.tags == ["their", "ours"]


@pytest.mark.covers("T169")
async def test_errors_that_are_no_race_reach_the_caller(environment: Environment) -> None:
    await environment.install(WIDGETS)
    with pytest.raises(BadRequest, match=r"set metadata\.name"):
        await create_or_patch(environment.client, ConfigMap(metadata=ObjectMeta(generate_name="a", namespace="b")))
    with pytest.raises(Invalid):
        await create_or_patch(environment.client, new_widget(environment.namespace, size=100))
    nowhere = ConfigMap(metadata=ObjectMeta(name="c", namespace="no-such-namespace"))
    with pytest.raises(NotFound, match="no-such-namespace"):
        await create_or_patch(environment.client, nowhere)


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
