"""What the client sends and how it reads answers, shown on a transport that records."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from pilotage.client import Client, merge_from, raw_patch, strategic_merge_from
from pilotage.client.transport.warnings import LoggedOnce, ServerWarning
from pilotage.errors import BadRequest, Gone, InvalidDefinition, NoMatch, NotFound, StatusDetails
from pilotage.meta.kinds import GroupVersionKind, GroupVersionResource
from pilotage.meta.mapping.mapper import RESTMapping
from pilotage.meta.models import Model, ObjectMeta, Resource
from pilotage.meta.unstructured import PartialObjectMetadata, Unstructured, metadata_only
from pilotage.rest import Form, PatchType, Response, Verb

from .fakes import Recorder
from .kinds import GROUP, WIDGET, Planet, Widget, WidgetSpec, new_widget, widget_document

SERVED = RESTMapping(WIDGET, GroupVersionResource(GROUP, "v1", "widgets"), True)


def answer(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": WIDGET.api_version,
        "kind": "Widget",
        "metadata": {"name": "one", "namespace": "a", "uid": "u", "resourceVersion": "5"},
        "spec": {"size": 1} | spec,
    }


@pytest.mark.covers("T142")
async def test_a_class_needs_no_discovery_and_a_kinds_name_does_once() -> None:
    transport = Recorder(answer(), answer(), answer(), served=[SERVED])
    client = Client(transport)
    await client.get(Widget, "one", namespace="a")
    assert transport.discoveries == 0
    await client.get(WIDGET, "one", namespace="a")
    await client.get(metadata_only(WIDGET), "one", namespace="a")
    assert transport.discoveries == 1
    assert [request.form for request in transport.requests] == [Form.OBJECT, Form.OBJECT, Form.METADATA]
    assert len({request.resource for request in transport.requests}) == 1


@pytest.mark.covers("T142")
async def test_many_who_miss_at_once_share_one_discovery() -> None:
    transport = Recorder(*[answer() for _ in range(10)], served=[SERVED])
    client = Client(transport)
    await asyncio.gather(*(client.get(WIDGET, "one", namespace="a") for _ in range(10)))
    assert transport.discoveries == 1


@pytest.mark.covers("T142")
async def test_an_unknown_kind_asks_discovery_again_each_time() -> None:
    transport = Recorder(answer())
    client = Client(transport)
    with pytest.raises(NoMatch):
        await client.get(WIDGET, "one", namespace="a")
    transport.served.append(SERVED)
    assert (await client.get(WIDGET, "one", namespace="a")).kind == "Widget"
    assert transport.discoveries == 2


async def test_derived_clients_share_what_is_known() -> None:
    transport = Recorder(answer(), answer(), served=[SERVED])
    client = Client(transport)
    await client.get(WIDGET, "one", namespace="a")
    await client.with_namespace("a").dry_run().get(WIDGET, "one")
    assert transport.discoveries == 1


@pytest.mark.covers("T138")
async def test_defaults_are_sent_with_every_write() -> None:
    transport = Recorder(answer(), answer(), answer())
    client = Client(transport, user_agent="me/1", field_owner="owner").dry_run().with_field_validation("Strict")
    widget = await client.create(new_widget("a"))
    await client.update(widget)
    await client.patch(widget, {})
    for request in transport.requests:
        write = request.write
        assert (write.dry_run, write.field_manager, write.field_validation) == (True, "owner", "Strict")
        assert request.user_agent == "me/1"


@pytest.mark.covers("T138")
async def test_options_of_a_call_override_the_defaults() -> None:
    transport = Recorder(answer())
    client = Client(transport, field_owner="owner").with_field_validation("Strict")
    await client.create(new_widget("a"), field_owner="other", field_validation="Warn")
    write = transport.requests[0].write
    assert (write.field_manager, write.field_validation) == ("other", "Warn")


async def test_deriving_a_client_leaves_the_first_as_it_was() -> None:
    transport = Recorder(answer())
    client = Client(transport)
    client.dry_run()
    client.with_field_owner("x")
    await client.create(new_widget("a"))
    assert transport.requests[0].write.dry_run is False
    assert transport.requests[0].write.field_manager == ""


@pytest.mark.parametrize("call", ["get", "create", "update", "patch", "delete", "delete_all_of"])
async def test_a_namespace_is_asked_for_before_anything_is_sent(call: str) -> None:
    transport = Recorder()
    client = Client(transport)
    calls = {
        "get": lambda: client.get(Widget, "one"),
        "create": lambda: client.create(new_widget("")),
        "update": lambda: client.update(new_widget("")),
        "patch": lambda: client.patch(new_widget(""), {}),
        "delete": lambda: client.delete(Widget, "one"),
        "delete_all_of": lambda: client.delete_all_of(Widget),
    }
    with pytest.raises(BadRequest, match="namespace=") as caught:
        await calls[call]()  # type: ignore[no-untyped-call]
    assert caught.value.kind == "Widget"
    assert transport.requests == []


@pytest.mark.covers("T146")
async def test_a_name_is_asked_for_before_anything_is_sent() -> None:
    transport = Recorder()
    client = Client(transport)
    with pytest.raises(BadRequest, match="the name of the Widget is empty"):
        await client.get(Widget, "", namespace="a")
    with pytest.raises(BadRequest, match=r"metadata\.name or metadata\.generate_name"):
        await client.create(new_widget("a", ""))
    with pytest.raises(BadRequest, match=r"has no name: set metadata\.name"):
        await client.update(new_widget("a", ""))
    assert transport.requests == []


@pytest.mark.covers("T127")
async def test_an_argument_that_is_not_a_kind_is_reported() -> None:
    class Loose(Model):
        pass

    class Unnamed(Resource):
        pass

    client = Client(Recorder())
    for kind in (Loose, Unnamed, dict):
        with pytest.raises(InvalidDefinition, match=r"@resource"):
            await client.get(kind, "one", namespace="a")  # type: ignore[type-var]


async def test_a_document_must_say_what_it_is() -> None:
    from pilotage.errors import DecodeError

    with pytest.raises(DecodeError, match="apiVersion"):
        await Client(Recorder()).create(Unstructured({"metadata": {"name": "a"}}))


async def test_no_answer_about_an_object_is_taken_for_an_unknown_kind() -> None:
    details = StatusDetails(name="one", group=GROUP, kind="widgets")
    client = Client(Recorder(NotFound("widgets one not found", details=details), NotFound("404 page not found")))
    with pytest.raises(NotFound):
        await client.get(Widget, "one", namespace="a")
    with pytest.raises(NoMatch):
        await client.get(Widget, "one", namespace="a")


async def test_labels_and_fields_become_selectors() -> None:
    transport = Recorder([], [])
    client = Client(transport)
    await client.list(Widget, labels={"b": "2", "a": "1"}, fields={"metadata.name": "x=y,z"}, limit=3)
    options = transport.requests[0].options
    assert (options.label_selector, options.field_selector, options.limit) == ("a=1,b=2", "metadata.name=x\\=y\\,z", 3)
    await client.list(Widget, labels="a in (b)", fields="c!=d")
    options = transport.requests[1].options
    assert (options.label_selector, options.field_selector) == ("a in (b)", "c!=d")


async def test_an_error_event_of_a_watch_is_raised() -> None:
    status = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version: 1 (2)"}
    client = Client(Recorder([("ADDED", answer()), ("ERROR", status)]))
    async with client.watch(Widget, namespace="a") as events:
        assert (await anext(events)).object.spec.size == 1
        with pytest.raises(Gone) as caught:
            await anext(events)
    assert (caught.value.kind, caught.value.namespace) == ("Widget", "a")


async def test_an_event_is_decoded_when_it_is_touched() -> None:
    broken = answer(size="not a number")
    client = Client(Recorder([("ADDED", broken)]))
    async with client.watch(Widget, namespace="a") as events:
        event = await anext(events)
    assert event.header.name == "one"
    assert repr(event) == "<WatchedEvent ADDED a/one at version 5>"
    with pytest.raises(Exception, match="size"):
        _ = event.object


async def test_an_object_made_from_parts_takes_the_bytes_of_its_own_version_only() -> None:
    metadata = ObjectMeta(name="one", namespace="a", uid="u", resource_version="4")
    made = Widget(metadata=metadata, spec=WidgetSpec(size=2))
    transport = Recorder(answer(note="of version 5"), answer(size=2))
    await Client(transport).update(made)
    assert [request.verb for request in transport.requests] == [Verb.GET, Verb.UPDATE]
    assert b"note" not in transport.requests[1].body  # the server will say that version 4 is stale


async def test_an_object_that_was_read_is_written_without_reading_again() -> None:
    transport = Recorder(answer(note="keep"), answer(note="keep", size=2))
    client = Client(transport)
    widget = await client.get(Widget, "one", namespace="a")
    widget.spec.size = 2
    await client.update(widget)
    assert [request.verb for request in transport.requests] == [Verb.GET, Verb.UPDATE]
    assert b'"note":"keep"' in transport.requests[1].body


async def test_patches_say_what_they_are() -> None:
    transport = Recorder(*[answer()] * 4)
    client = Client(transport)
    widget = await client.get(Widget, "one", namespace="a")
    await client.patch(widget, {"a": 1})
    await client.patch(widget, [])
    await client.patch(widget, raw_patch(PatchType.MERGE, '{"text": true}'))
    assert [(request.content_type, request.body) for request in transport.requests[1:]] == [
        (PatchType.MERGE.value, b'{"a":1}'),
        (PatchType.JSON.value, b"[]"),
        (PatchType.MERGE.value, b'{"text": true}'),
    ]


async def test_merge_from_carries_only_the_change() -> None:
    transport = Recorder(answer(note="unknown"), answer())
    client = Client(transport)
    widget = await client.get(Widget, "one", namespace="a")
    patch = merge_from(widget, optimistic_lock=True)
    widget.spec.size = 3
    widget.metadata.resource_version = "999"  # as if it had been written in between
    await client.patch(widget, patch)
    assert transport.requests[1].body == b'{"spec":{"size":3},"metadata":{"resourceVersion":"5"}}'


async def test_a_difference_needs_an_object_to_be_patched() -> None:
    with pytest.raises(InvalidDefinition, match="needs the changed object"):
        await Client(Recorder()).patch(Widget, merge_from(new_widget("a")), name="one", namespace="a")


async def test_an_argument_that_is_not_a_patch_is_reported() -> None:
    with pytest.raises(InvalidDefinition, match="is not a patch"):
        await Client(Recorder()).patch(new_widget("a"), "text")
    with pytest.raises(InvalidDefinition, match="not a built-in kind"):
        strategic_merge_from(new_widget("a"))


async def test_apply_needs_an_owner() -> None:
    transport = Recorder(answer(), served=[SERVED])
    client = Client(transport)
    with pytest.raises(BadRequest, match="field_owner="):
        await client.apply(widget_document("a"))
    await client.with_field_owner("me").apply(widget_document("a"))
    assert transport.requests[0].content_type == PatchType.APPLY.value
    assert transport.requests[0].write.field_manager == "me"


async def test_managed_fields_are_not_applied() -> None:
    document = widget_document("a")
    document["metadata"]["managedFields"] = [{"manager": "x"}]
    transport = Recorder(answer(), served=[SERVED])
    await Client(transport).apply(document, field_owner="me")
    assert b"managedFields" not in transport.requests[0].body


async def test_partial_metadata_can_be_patched_and_deleted() -> None:
    transport = Recorder(
        answer() | {"metadata": {"name": "one", "namespace": "a", "labels": {"a": "b"}}}, {}, served=[SERVED]
    )
    client = Client(transport)
    partial = PartialObjectMetadata(WIDGET, ObjectMeta(name="one", namespace="a"))
    await client.patch(partial, {"metadata": {"labels": {"a": "b"}}})
    assert partial.metadata.labels == {"a": "b"}
    await client.delete(partial)
    assert [request.form for request in transport.requests] == [Form.METADATA, Form.METADATA]


async def test_conditions_of_a_deletion_are_sent() -> None:
    transport = Recorder({})
    await Client(transport).delete(
        Widget, "one", namespace="a", uid="u", resource_version="5", propagation_policy="Orphan", grace_period_seconds=0
    )
    options = transport.requests[0].delete
    assert (options.uid, options.resource_version) == ("u", "5")
    assert (options.propagation_policy, options.grace_period_seconds, options.dry_run) == ("Orphan", 0, False)


async def test_warnings_are_logged_once_with_kind_and_object(caplog: pytest.LogCaptureFixture) -> None:
    bodies = [msgspec.json.encode(answer() | {"metadata": {"name": name, "namespace": "a"}}) for name in ("one", "two")]
    transport = Recorder(*[Response(bodies[which], warnings=("old thing", "other thing")) for which in (0, 0, 1)])
    client = Client(transport)
    with caplog.at_level(logging.WARNING, logger="pilotage.client"):
        for name in ("one", "one", "two"):
            await client.get(Widget, name, namespace="a")
    assert [record.message for record in caplog.records] == ["Widget a/one: old thing", "Widget a/one: other thing"]


async def test_the_same_warning_about_another_kind_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    widget = msgspec.json.encode(answer())
    planet = msgspec.json.encode(answer() | {"kind": "Planet", "metadata": {"name": "mars"}})
    transport = Recorder(Response(widget, warnings=("old thing",)), Response(planet, warnings=("old thing",)))
    client = Client(transport)
    with caplog.at_level(logging.WARNING, logger="pilotage.client"):
        await client.get(Widget, "one", namespace="a")
        await client.get(Planet, "mars")
    assert [record.message for record in caplog.records] == ["Widget a/one: old thing", "Planet mars: old thing"]


def test_a_warning_about_a_list_names_the_kind_alone() -> None:
    assert str(ServerWarning("old thing", WIDGET, "a")) == "Widget: old thing"


def test_the_memory_for_warnings_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    handler = LoggedOnce()
    for number in range(1001):
        handler(ServerWarning(str(number), WIDGET))
    caplog.clear()
    handler(ServerWarning("1000", WIDGET))
    handler(ServerWarning("0", WIDGET))
    assert [record.message for record in caplog.records] == ["Widget: 0"]


def test_a_kind_prints_in_the_error_as_it_is_written() -> None:
    from pilotage.meta.mapping.mapper import not_served

    text = str(not_served(GroupVersionKind("", "v1", "Thing")))
    assert text.startswith("the server does not serve Thing of v1: install its CustomResourceDefinition")


@pytest.mark.covers("T128")
async def test_metadata_alone_cannot_be_created_or_updated() -> None:
    transport = Recorder()
    partial = PartialObjectMetadata(WIDGET, ObjectMeta(name="a", namespace="b"))
    for write in (Client(transport).create, Client(transport).update, Client(transport).apply):
        with pytest.raises(BadRequest, match="this Widget has metadata only and cannot be written: patch it"):
            await write(partial)  # type: ignore[type-var]  # a type checker reports it, too
    assert transport.requests == []


@pytest.mark.covers("T140")
async def test_large_numbers_are_patched_exactly() -> None:
    number = 2**62 + 1
    document = widget_document("b", settings={"number": 1})
    patch = merge_from(document)
    document["spec"]["settings"]["number"] = number
    assert msgspec.json.decode(patch.data(document)) == {"spec": {"settings": {"number": number}}}


async def test_an_unknown_option_of_a_write_is_refused_for_the_method_that_was_called() -> None:
    transport = Recorder()
    client: Any = Client(transport)
    widget, shared = new_widget("a"), "dry_run, field_owner, field_validation"
    for write, options in (
        (client.create, shared),
        (client.update, f"{shared}, subresource"),
        (client.update_status, shared),
    ):
        with pytest.raises(
            TypeError, match=rf"^{write.__name__}\(\) has no option 'dryrun': its options are {options}$"
        ):
            await write(widget, dryrun=True)
    for write, options in (
        (client.patch, f"{shared}, name, namespace, subresource"),
        (client.patch_status, f"{shared}, name, namespace"),
    ):
        with pytest.raises(
            TypeError, match=rf"^{write.__name__}\(\) has no option 'dryrun': its options are {options}$"
        ):
            await write(widget, {}, dryrun=True)
    assert not transport.requests
