"""OpenTelemetry traces of reconciles and API calls."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import pilotage as pt
from pilotage.telemetry import tracing
from pilotage.types.core.v1 import ConfigMap


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    pt.configure_tracing(provider)
    yield exporter
    pt.configure_tracing(enabled=False)


def _of(spans: InMemorySpanExporter, name: str, obj: str = "a") -> list[ReadableSpan]:
    return [
        span
        for span in spans.get_finished_spans()
        if span.name == name and (span.attributes or {}).get("name", obj) == obj
    ]


async def test_a_reconcile_is_a_span_with_its_triggers_and_its_calls_are_children(spans: InMemorySpanExporter) -> None:
    async with pt.Cluster.embedded() as cluster, pt.Manager(cluster) as manager:
        await cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default")))

        async def label(request: pt.Request) -> pt.Result:
            if request.name == "a":
                found = await manager.client.get(ConfigMap, request)
                await manager.client.patch(found, {"metadata": {"labels": {"seen": "yes"}}})
            return pt.Result()

        pt.ControllerBuilder(manager).for_(ConfigMap).named("traced").complete(label)
        await manager.run_until_idle(timeout=60)
    first = _of(spans, "Reconcile traced")[0]
    assert first.attributes is not None
    assert first.attributes["namespace"] == "default"
    assert first.attributes["controller"] == "traced"
    triggers = first.attributes["triggers"]
    assert isinstance(triggers, tuple)
    assert len(triggers) == 1
    assert "default/a" in str(triggers[0])
    (patch, *_) = [span for span in spans.get_finished_spans() if span.name == "patch configmaps"]
    assert patch.parent is not None
    assert first.context is not None
    assert patch.parent.span_id == first.context.span_id
    assert patch.attributes is not None
    assert patch.attributes["k8s.object.name"] == "a"


async def test_a_reconcile_that_fails_is_a_failed_span(spans: InMemorySpanExporter) -> None:
    async with pt.Cluster.embedded() as cluster, pt.Manager(cluster) as manager:
        await cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default")))

        async def fail(request: pt.Request) -> pt.Result:
            if request.name == "a":
                raise pt.TerminalError("it cannot work")
            return pt.Result()

        pt.ControllerBuilder(manager).for_(ConfigMap).named("failing").complete(fail)
        await manager.run_until_idle(timeout=60)
    (span,) = _of(spans, "Reconcile failing")
    assert span.status.description == "TerminalError: it cannot work"
    assert [event.name for event in span.events] == ["exception"]


async def test_a_call_that_fails_is_a_failed_span(spans: InMemorySpanExporter) -> None:
    async with pt.Cluster.embedded() as cluster:
        with pytest.raises(pt.NotFound):
            await cluster.client.get(ConfigMap, "absent", namespace="default")
    (span,) = [span for span in spans.get_finished_spans() if span.name == "get configmaps"]
    assert not span.status.is_ok


def test_tracing_is_off_until_it_is_configured() -> None:
    assert tracing.active() is None


async def test_a_reconcile_is_linked_to_the_traces_that_its_objects_name(spans: InMemorySpanExporter) -> None:
    trace = "0af7651916cd43dd8448eb211c80319c"
    annotations = {tracing.ANNOTATION: f"00-{trace}-b7ad6b7169203331-01"}
    async with pt.Cluster.embedded() as cluster, pt.Manager(cluster) as manager:
        for name, found in (("a", annotations), ("wrong", {tracing.ANNOTATION: "00-nonsense"})):
            meta = pt.ObjectMeta(name=name, namespace="default", annotations=found)
            await cluster.client.create(ConfigMap(metadata=meta))

        async def nothing(request: pt.Request) -> None:
            pass

        pt.ControllerBuilder(manager).for_(ConfigMap).named("linked").complete(nothing)
        await manager.run_until_idle(timeout=60)
    (span,) = _of(spans, "Reconcile linked")
    assert [f"{link.context.trace_id:032x}" for link in span.links] == [trace]
    (other,) = _of(spans, "Reconcile linked", "wrong")
    assert not other.links


async def test_what_a_reconcile_creates_names_its_trace_where_that_is_configured() -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    pt.configure_tracing(provider, annotate=True)
    try:
        async with pt.Cluster.embedded() as cluster, pt.Manager(cluster) as manager:
            await cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default")))

            async def copy(request: pt.Request) -> None:
                found = await manager.client.get(ConfigMap, request)
                if request.name == "a":
                    meta = pt.ObjectMeta(name="b", namespace="default")
                    await pt.create_or_patch(manager.client, ConfigMap(metadata=meta, data={"n": "1"}), owner=found)

            pt.ControllerBuilder(manager).for_(ConfigMap).owns(ConfigMap).named("copies").complete(copy)
            await manager.run_until_idle(timeout=60)
            outside, made = [await cluster.client.get(ConfigMap, name, namespace="default") for name in ("a", "b")]
    finally:
        pt.configure_tracing(enabled=False)
    created = next(span for span in exporter.get_finished_spans() if span.name == "create configmaps" and span.parent)
    assert created.context is not None
    assert f"{created.context.trace_id:032x}" in made.metadata.annotations[tracing.ANNOTATION]
    assert tracing.ANNOTATION in outside.metadata.annotations  # the call of the client is a span, too
    second = _of(exporter, "Reconcile copies", "b")[0]
    assert [link.context.trace_id for link in second.links] == [created.context.trace_id]
