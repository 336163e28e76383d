"""What the debug lines of controllers and clients show."""

from __future__ import annotations

import logging

import pytest

import pilotage as pt
from pilotage.telemetry.lines import LogEvent
from pilotage.types.core.v1 import ConfigMap

pytestmark = pytest.mark.virtual_time


def config_map(name: str, **labels: str) -> ConfigMap:
    return ConfigMap(metadata=pt.ObjectMeta(name=name, namespace="default", labels=labels))


def events(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, object]]:
    """The fields of the lines with this message."""
    found = [record.msg for record in caplog.records]
    return [dict(event.fields) for event in found if isinstance(event, LogEvent) and event.message == message]


async def reconciled(caplog: pytest.LogCaptureFixture, level: int) -> None:
    """A run with an object that is labelled, one that a predicate drops, and one that fails once."""
    caplog.set_level(level, "pilotage")
    failures = ["once"]

    async with pt.Manager(pt.Cluster.embedded()) as manager:

        async def label(request: pt.Request) -> pt.Result | None:
            if request.name == "fails" and failures:
                raise ValueError(failures.pop())
            if request.name == "labelled":
                await manager.client.patch(ConfigMap, {"metadata": {"labels": {"seen": "yes"}}}, name=request)
            return pt.Result(requeue_after=3600) if request.name == "labelled" else None

        is_shown = pt.not_(pt.label_selector("hidden=yes"))
        pt.ControllerBuilder(manager).for_(ConfigMap, predicates=[is_shown]).named("debugged").complete(label)
        client = manager.cluster.client
        for made in (config_map("labelled"), config_map("dropped", hidden="yes"), config_map("fails")):
            await client.create(made)
        await manager.run_until_idle(timeout=60)


async def test_debug_shows_each_event_with_its_decision(caplog: pytest.LogCaptureFixture) -> None:
    await reconciled(caplog, logging.DEBUG)
    (dropped,) = events(caplog, "Event dropped")
    assert dropped == {
        "controller": "debugged",
        "source": "kind source: *v1.ConfigMap",
        "namespace": "default",
        "name": "dropped",
        "event": "create",
        "predicate": "not_(label_selector(hidden=yes))",
    }
    queued = events(caplog, "Event queued a request")
    assert [(one["event"], str(one["request"])) for one in queued if one["name"] == "labelled"] == [
        ("create", "default/labelled"),
        ("update", "default/labelled"),
    ]


async def test_debug_shows_events_that_a_handler_maps_to_nothing(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "pilotage")
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        builder = pt.ControllerBuilder(manager).named("deaf").watches(ConfigMap, lambda event: [])
        builder.complete(_nothing)
        await manager.cluster.client.create(config_map("a"))
        await manager.run_until_idle(timeout=60)
    assert [one["name"] for one in events(caplog, "Event led to no request")] == ["a"]


async def _nothing(request: pt.Request) -> None:
    """Never called."""


async def test_debug_shows_each_reconcile_with_its_triggers_and_result(caplog: pytest.LogCaptureFixture) -> None:
    await reconciled(caplog, logging.DEBUG)
    found = [
        (one["name"], one["result"], one["triggers"])
        for one in events(caplog, "Reconciled")
        if one["name"] in ("labelled", "fails")
    ]
    assert sorted(found, key=str) == [
        ("fails", "error", ["create default/fails (kind source: *v1.ConfigMap)"]),
        ("fails", "success", ["retry after ValueError"]),
        ("labelled", "requeue_after", ["create default/labelled (kind source: *v1.ConfigMap)"]),
        ("labelled", "requeue_after", ["requeue_after=3600", "update default/labelled (kind source: *v1.ConfigMap)"]),
    ]
    assert all(isinstance(one["seconds"], float) for one in events(caplog, "Reconciled"))


async def test_debug_shows_each_write_with_the_version_that_it_left(caplog: pytest.LogCaptureFixture) -> None:
    await reconciled(caplog, logging.DEBUG)
    first, *_ = [one for one in events(caplog, "Write") if one["verb"] == "patch"]
    seconds, version = first.pop("seconds"), first.pop("resourceVersion")
    assert isinstance(seconds, float)
    assert str(version).isdecimal()
    about = {key: first[key] for key in ("controller", "name", "verb", "resource", "object", "result")}
    assert about == {
        "controller": "debugged",
        "name": "labelled",
        "verb": "patch",
        "resource": "configmaps",
        "object": "default/labelled",
        "result": "ok",
    }


async def test_debug_shows_why_a_write_was_refused(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "pilotage")
    async with pt.Cluster.embedded() as cluster:
        with pytest.raises(pt.NotFound):
            await cluster.client.delete(ConfigMap, "a", namespace="default")
    (write,) = events(caplog, "Write")
    assert (write["object"], write["result"]) == ("default/a", 'NotFound: configmaps "a" not found')


@pytest.mark.parametrize(("level", "shown"), [(logging.DEBUG, 0), (5, 1)])  # V(6) is 5 below DEBUG
async def test_reads_are_shown_at_v6(caplog: pytest.LogCaptureFixture, level: int, shown: int) -> None:
    caplog.set_level(level, "pilotage")
    async with pt.Cluster.embedded() as cluster:
        await cluster.client.list(ConfigMap, namespace="default")
    assert len(events(caplog, "Read")) == shown


async def test_info_shows_none_of_it(caplog: pytest.LogCaptureFixture) -> None:
    await reconciled(caplog, logging.INFO)
    assert not [record.getMessage() for record in caplog.records if record.levelno < logging.INFO]
