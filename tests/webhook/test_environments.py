"""Webhooks in all environments: called in process or over TLS, with the same results for clients."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import pilotage as pt
from hack.cluster.running import RealCluster
from pilotage.meta.unstructured import Unstructured
from pilotage.types.autoscaling.v1 import Scale

from ..environments import WITHIN, Environment, embedded, over_there
from .books import Book, BookWebhook


class ShelfSpec(pt.Model):
    replicas: int = 1


class ShelfStatus(pt.Model):
    replicas: int = 0


@pt.resource(group="shelves.pilotage.dev", version="v1", plural="shelves", status=True, scale=pt.markers.Scale())
class Shelf(pt.Resource):
    spec: ShelfSpec
    status: ShelfStatus | None = None


async def manager_of(environment: Environment) -> pt.Manager:
    options = pt.webhook.WebhookServerOptions(host="127.0.0.1", port=0)
    return pt.Manager(environment.cluster(), pt.ManagerOptions(webhook_server=pt.webhook.WebhookServer(options)))


@asynccontextmanager
async def started(manager: pt.Manager) -> AsyncIterator[None]:
    running = asyncio.ensure_future(manager.start())
    try:
        await manager.ready()
        yield
    finally:
        running.cancel()
        await asyncio.wait([running])


def only_here(environment: Environment, **more: object) -> pt.RegistrationOptions:
    """Only objects of this test's namespace: the real server serves other tests, too."""
    selector = {"matchLabels": {"kubernetes.io/metadata.name": environment.namespace}}
    return pt.RegistrationOptions(namespace_selector=selector, **more)  # type: ignore[arg-type]


def a_book(name: str, title: str = "Summer", pages: int = 10) -> Unstructured:
    metadata = {"name": name}
    spec = {"title": title, "pages": pages}
    return Unstructured({"apiVersion": "books.pilotage.dev/v1", "kind": "Book", "metadata": metadata, "spec": spec})


@pytest.mark.covers("T181")
async def test_objects_are_filled_in_checked_and_refused(environment: Environment) -> None:
    async with await manager_of(environment) as manager:
        await manager.cluster.install(Book)
        webhook = BookWebhook()
        builder = (
            pt.WebhookBuilder(manager)
            .for_(Book)
            .with_options(only_here(environment))
            .named(f"{environment.namespace}.test")
        )
        builder.with_defaulter(webhook).with_validator(webhook).complete()
        client = environment.client.with_namespace(environment.namespace)
        async with started(manager):
            made = await client.create(a_book("summer"))
            assert made["spec"]["size"] == "A4"
            with pytest.raises(pt.Invalid) as refused:
                await client.create(a_book("winter", "winter"), dry_run=True)
            assert [cause.field for cause in refused.value.causes] == ["spec.title"]
            with pytest.raises(pt.Invalid, match="may not shrink"):
                await client.patch(made, {"spec": {"pages": 5}})
            await client.create(a_book("large", pages=2000))
            assert environment.warnings == ["large books are slow to print"]
            await client.patch(made, {"metadata": {"labels": {"keep": "yes"}}})
            with pytest.raises(pt.Forbidden, match="it is labelled to be kept"):
                await client.delete(made)
        if environment.real:
            await no_longer_called(client)
        await client.create(a_book("unchecked", "lower"))  # the manager has stopped, and its webhooks with it
        assert (await client.get(made.gvk, "unchecked")).nested("spec", "size") is None


async def no_longer_called(client: pt.Client) -> None:
    """Wait until the API server has noticed that the configurations are deleted: until then, no write succeeds."""
    async with asyncio.timeout(WITHIN):
        while True:
            try:
                await client.create(a_book("unchecked"), dry_run=True)
                return
            except pt.errors.InternalError:
                await asyncio.sleep(0.02)


async def test_status_and_scale_are_passed_on_if_they_are_asked_for(environment: Environment) -> None:
    seen: list[tuple[str, str, str]] = []

    async def handle(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
        seen.append((request.operation, request.subresource, request.kind.kind))
        if request.subresource == "scale":
            scale = request.decode(Scale)
            if scale.spec is not None and (scale.spec.replicas or 0) > 10:
                return pt.denied("too many shelves")
        return pt.allowed()

    async with await manager_of(environment) as manager:
        await manager.cluster.install(Shelf)
        options = only_here(environment, subresources=("status", "scale"))
        builder = pt.WebhookBuilder(manager).for_(Shelf).with_options(options).named(f"{environment.namespace}.test")
        builder.with_validating_handler(handle).complete()
        client = environment.client.with_namespace(environment.namespace)
        async with started(manager):
            shelf = await client.create(Shelf(metadata=pt.ObjectMeta(name="a"), spec=ShelfSpec()))
            shelf.status = ShelfStatus(replicas=1)
            await client.update_status(shelf)
            await client.patch(shelf, {"spec": {"replicas": 3}}, subresource="scale")
            with pytest.raises(pt.Forbidden, match="too many shelves"):
                await client.patch(shelf, {"spec": {"replicas": 11}}, subresource="scale")
    assert seen == [
        ("CREATE", "", "Shelf"),
        ("UPDATE", "status", "Shelf"),
        ("UPDATE", "scale", "Scale"),
        ("UPDATE", "scale", "Scale"),
    ]


async def fail(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
    raise KeyError("oops")


async def hang(request: pt.AdmissionRequest) -> pt.webhook.AdmissionResponse:
    await asyncio.Event().wait()
    raise AssertionError("never")


async def test_a_handler_that_fails_leaves_it_to_the_failure_policy(environment: Environment) -> None:
    await check_failure_policies(environment, fail)


@pytest.mark.cluster
async def test_a_handler_that_hangs_is_given_up_by_a_real_api_server(real_control_plane: RealCluster) -> None:
    async with over_there(real_control_plane) as environment:
        await check_failure_policies(environment, hang)


@pytest.mark.virtual_time
async def test_a_handler_that_hangs_is_given_up_by_an_embedded_api_server() -> None:
    async with embedded("memory", "memory:") as environment:
        start = asyncio.get_running_loop().time()
        await check_failure_policies(environment, hang)
        assert 2 <= asyncio.get_running_loop().time() - start < 3  # two calls, one second each


async def check_failure_policies(environment: Environment, handler: pt.webhook.AdmissionHandler) -> None:
    async with await manager_of(environment) as manager:
        await manager.cluster.install(Book)
        for policy in ("Ignore", "Fail"):
            options = only_here(
                environment,
                failure_policy=policy,
                timeout_seconds=1,
                object_selector={"matchLabels": {"policy": policy}},
            )
            builder = pt.WebhookBuilder(manager).for_(Book).with_options(options)
            builder.named(f"{policy.lower()}.{environment.namespace}.test")
            builder.with_validating_handler(handler, path=f"/{policy.lower()}").complete()
        client = environment.client.with_namespace(environment.namespace)
        async with started(manager):
            ignored, failing = a_book("ignored"), a_book("failing")
            ignored["metadata"]["labels"] = {"policy": "Ignore"}
            failing["metadata"]["labels"] = {"policy": "Fail"}
            assert (await client.create(ignored)).metadata.uid
            with pytest.raises(pt.errors.InternalError, match="failed calling webhook"):
                await client.create(failing)


@pytest.mark.parametrize("serve", [True, None], ids=["served", "in process"])
async def test_a_second_program_on_the_same_file_meets_the_webhooks(tmp_path: Path, serve: bool | None) -> None:
    """Called over HTTPS if they are served, and else the write is refused: it is never stored unchecked."""
    url = f"sqlite:{tmp_path}/shared.db"
    server = pt.webhook.WebhookServer(pt.webhook.WebhookServerOptions(host="127.0.0.1", port=0, serve=serve))
    async with (
        pt.Manager(pt.Cluster.embedded(url), pt.ManagerOptions(webhook_server=server)) as manager,
        pt.Cluster.embedded(url) as second,
    ):
        await manager.cluster.install(Book)
        pt.WebhookBuilder(manager).for_(Book).with_validator(BookWebhook()).complete()
        client = second.client.with_namespace("default")
        async with started(manager):
            refusal = pt.Invalid if serve else pt.errors.InternalError
            with pytest.raises(refusal, match="must begin with a capital" if serve else r"in-process\.invalid"):
                await client.create(a_book("winter", "winter"))
        await client.create(a_book("winter", "winter"))
