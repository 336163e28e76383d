"""A run leaves the registrations of other programs alone."""

from __future__ import annotations

import asyncio

import pytest

import pilotage as pt
from pilotage.meta.documents import Document, copied
from pilotage.meta.forms import gvk_of
from pilotage.meta.unstructured import Unstructured
from pilotage.schema.generate.crd import crds
from pilotage.types.core.v1 import Secret
from pilotage.webhook.addresses import HostAddress, ServiceAddress
from pilotage.webhook.conversion.declaration import DEFINITION, ConversionDeclaration
from pilotage.webhook.declarations import VALIDATING, Declaration, WebhookRule
from pilotage.webhook.manifests import ManifestOptions, manifests
from pilotage.webhook.options import DEFAULT_SECRET, DISABLED
from pilotage.webhook.ownership import FIELD_OWNER, Target, refusal, target_of
from pilotage.webhook.registration import RegisteredElsewhere, WebhookRegistration

from ..environments import Environment
from .books import Book, BookSpec, BookWebhook

HERE = {"url": "https://127.0.0.1:9443/validate"}
LAST_RUN = {"url": "https://127.0.0.1:1234/validate"}
SERVICE = ServiceAddress("webhook-service", "system").client_config("/validate")
RENAMED = ServiceAddress("other-service", "system").client_config("/validate")
DECLARATION = Declaration(
    "books.library.dev", "/validate", mutating=False, rules=[WebhookRule(["library.dev"], ["v1"], ["books"])]
)


@pytest.mark.parametrize(
    ("address", "owners", "wanted", "registers", "refused"),
    [
        ({}, (), HERE, True, False),
        (HERE, ("kubectl",), HERE, True, False),
        (LAST_RUN, (), HERE, True, False),
        (LAST_RUN, ("kubectl",), HERE, True, True),
        (LAST_RUN, ("kubectl",), HERE, False, False),  # an address that leads here, as through a tunnel
        (SERVICE, ("kubectl",), HERE, True, True),
        (SERVICE, ("kubectl",), HERE, False, True),
        (SERVICE, (), HERE, True, True),  # of a deployed program that registers itself
        (SERVICE, ("kubectl",), SERVICE, True, False),
        (RENAMED, ("helm",), SERVICE, False, False),
        (RENAMED, ("helm",), SERVICE, True, True),
        (RENAMED, (), SERVICE, True, False),
        (LAST_RUN, (), SERVICE, False, True),
        (LAST_RUN, (), SERVICE, True, False),
    ],
)
def test_what_a_run_must_leave_alone(
    address: Document, owners: tuple[str, ...], wanted: Document, registers: bool, refused: bool
) -> None:
    assert refusal(Target(address, owners), wanted, registers=registers) is refused


def test_a_service_without_a_port_has_that_of_https() -> None:
    without_port = {"service": {"name": "webhook-service", "namespace": "system", "path": "/validate"}}
    assert not refusal(Target(without_port, ("kubectl",)), SERVICE, registers=True)


@pytest.mark.virtual_time
async def test_the_owners_of_an_address_are_those_who_set_it_and_not_the_rest() -> None:
    async with pt.Cluster.embedded() as cluster:
        document = DECLARATION.document(copied(HERE))
        await cluster.client.apply(Unstructured(document), field_owner=FIELD_OWNER)
        found = await cluster.client.get(VALIDATING, DECLARATION.name)
        assert target_of(found.document, DECLARATION.client_config) == Target(HERE, ())
        found["webhooks"][0]["namespaceSelector"] = {"matchLabels": {"checked": "yes"}}
        await cluster.client.update(found, field_owner="kubectl-edit")
        assert target_of(found.document, DECLARATION.client_config) == Target(HERE, ())
        found["webhooks"][0]["clientConfig"]["url"] = LAST_RUN["url"]
        await cluster.client.update(found, field_owner="kubectl-edit")
        assert target_of(found.document, DECLARATION.client_config) == Target(LAST_RUN, ("kubectl-edit",))


@pytest.mark.virtual_time
async def test_a_configuration_that_another_program_has_taken_over_is_not_deleted() -> None:
    async with pt.Cluster.embedded() as cluster:
        registration = WebhookRegistration(cluster.client, HostAddress("127.0.0.1", 9443))
        await registration.apply([DECLARATION], b"")
        found = await cluster.client.get(VALIDATING, DECLARATION.name)
        found["webhooks"][0]["clientConfig"] = copied(SERVICE)
        await cluster.client.update(found, field_owner="kubectl-replace")
        assert await registration.apply([DECLARATION], b"bundle") == []
        await registration.remove([DECLARATION])
        kept = await cluster.client.get(VALIDATING, DECLARATION.name)
        assert kept.metadata.resource_version == found.metadata.resource_version


@pytest.mark.virtual_time
async def test_a_configuration_that_leads_to_another_run_by_now_is_not_deleted() -> None:
    async with pt.Cluster.embedded() as cluster:
        first = WebhookRegistration(cluster.client, HostAddress("127.0.0.1", 9443))
        second = WebhookRegistration(cluster.client, HostAddress("127.0.0.1", 9444))
        await first.apply([DECLARATION], b"")
        await second.apply([DECLARATION], b"")
        await first.remove([DECLARATION])
        assert await cluster.client.find(VALIDATING, DECLARATION.name) is not None
        await second.remove([DECLARATION])
        assert await cluster.client.find(VALIDATING, DECLARATION.name) is None


@pytest.mark.virtual_time
async def test_what_a_run_has_left_that_was_killed_is_replaced_by_the_next_and_then_removed() -> None:
    async with pt.Cluster.embedded() as cluster:
        await WebhookRegistration(cluster.client, HostAddress("127.0.0.1", 1234)).apply([DECLARATION], b"")
        registration = WebhookRegistration(cluster.client, HostAddress("127.0.0.1", 9443))
        await registration.check([DECLARATION])
        await registration.apply([DECLARATION], b"")
        found = await cluster.client.get(VALIDATING, DECLARATION.name)
        assert found["webhooks"][0]["clientConfig"] == HERE
        await registration.remove([DECLARATION])
        assert await cluster.client.find(VALIDATING, DECLARATION.name) is None


def test_a_conversion_of_a_deployed_program_is_left_alone() -> None:
    declaration = ConversionDeclaration("books.library.dev")
    service = ServiceAddress("webhook-service", "system").client_config(declaration.path)
    definition = {"spec": {"conversion": declaration.conversion(service)}}
    error = RegisteredElsewhere(declaration, target_of(definition, declaration.client_config), HERE)
    assert str(error) == (
        "CustomResourceDefinition books.library.dev calls the Service system/webhook-service, and not this run at "
        "https://127.0.0.1:9443/validate. Nothing was changed: leave webhooks to the program that is deployed "
        "(--webhook-bind-address 0, WebhookServerOptions(port=-1))"
    )


@pt.resource(group="books.pilotage.dev", version="v0", kind="Book", storage=False)
class OldBook(pt.Resource):
    spec: BookSpec

    def convert_to(self) -> Book:
        return Book(metadata=self.metadata, spec=self.spec)

    @classmethod
    def convert_from(cls, book: Book) -> OldBook:
        return cls(metadata=book.metadata, spec=book.spec)


async def test_a_run_leaves_the_conversion_of_a_deployed_program_to_it_and_works() -> None:
    service = ServiceAddress("webhook-service", "system").client_config("/convert")
    declaration = ConversionDeclaration("books.books.pilotage.dev")
    [definition] = crds([Book, OldBook])
    definition["spec"]["conversion"] = declaration.conversion(service)
    async with pt.Cluster.embedded() as cluster:
        await cluster.client.apply(Unstructured(definition), field_owner="kubectl")
        options = pt.webhook.WebhookServerOptions(host="127.0.0.1", port=0, serve=True)
        async with pt.Manager(
            cluster, pt.ManagerOptions(webhook_server_options=options, handle_signals=False)
        ) as manager:
            pt.WebhookBuilder(manager).for_(Book).with_conversion(OldBook).complete()
            running = asyncio.create_task(manager.start())
            await manager.ready()
            await cluster.install(Book, OldBook)
            running.cancel()
        found = await cluster.client.get(DEFINITION, declaration.name)
        assert target_of(found.document, declaration.client_config) == Target(service, ("kubectl",))


def manager_of(cluster: pt.Cluster, namespace: str, *, port: int = 0, register: bool = True) -> pt.Manager:
    """An operator with webhooks, as it runs on the machine of a developer. They are for objects of one namespace: the
    real server serves other tests, too."""
    server = pt.webhook.WebhookServerOptions(host="127.0.0.1", secret_namespace=namespace, port=port, register=register)
    manager = pt.Manager(cluster, pt.ManagerOptions(webhook_server_options=server, handle_signals=False))
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    builder = pt.WebhookBuilder(manager).for_(Book).named(f"{namespace}.ownership")
    webhook = BookWebhook()
    builder.with_options(pt.RegistrationOptions(namespace_selector=selector))
    builder.with_defaulter(webhook).with_validator(webhook).complete()
    return manager


async def test_applied_manifests_are_left_as_they_are_and_a_run_without_webhooks_works(
    environment: Environment,
) -> None:
    namespace, client = environment.namespace, environment.client
    declared = manager_of(pt.Cluster.embedded(), namespace).webhook_server.declarations
    applied = [Unstructured(each) for each in manifests(declared, ManifestOptions(namespace=namespace))]
    for each in applied:
        await client.apply(each, field_owner="kubectl")
    for registers in (True, False):
        async with manager_of(environment.cluster(), namespace, register=registers) as manager:
            with pytest.raises(RegisteredElsewhere) as raised:
                await manager.start()
        assert f"calls the Service {namespace}/webhook-service, set by kubectl, and not this run" in str(raised.value)
    async with manager_of(environment.cluster(), namespace, port=DISABLED) as manager:
        await manager.run_until_idle(timeout=60)
    assert await client.find(Secret, DEFAULT_SECRET, namespace=namespace) is None
    for before in applied:
        after = await client.get(gvk_of(before), before.metadata.name, namespace=before.metadata.namespace)
        assert after.document == before.document
        await client.delete(after)
