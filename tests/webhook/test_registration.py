"""Registrations are updated; if nothing has changed, that costs one read."""

from __future__ import annotations

from typing import Any

import pytest

import pilotage as pt
from pilotage.client.interception import Interceptor, intercept
from pilotage.server.webhooks.local import IN_PROCESS_HOST
from pilotage.types.admissionregistration.v1 import ValidatingWebhookConfiguration
from pilotage.webhook.addresses import HostAddress
from pilotage.webhook.declarations import Declaration, WebhookRule
from pilotage.webhook.registration import WebhookRegistration

DECLARATION = Declaration(
    "books.library.dev", "/validate", mutating=False, rules=[WebhookRule([""], ["v1"], ["configmaps"])]
)


@pytest.mark.virtual_time
async def test_what_has_not_changed_since_it_was_applied_is_not_applied_again() -> None:
    applied: list[str] = []

    async def apply(client: pt.Client, obj: Any, **options: Any) -> None:
        applied.append(obj.metadata.name)
        await client.apply(obj, **options)

    async with pt.Cluster.embedded() as cluster:
        registration = WebhookRegistration(
            intercept(cluster.client, Interceptor(apply=apply)), HostAddress(IN_PROCESS_HOST)
        )
        assert await registration.apply([DECLARATION], b"") == [DECLARATION]
        for _ in range(3):
            assert await registration.apply([DECLARATION], b"") == []
        assert len(applied) == 1
        found = await cluster.client.get(ValidatingWebhookConfiguration, DECLARATION.name)
        found.webhooks = []
        await cluster.client.update(found)
        assert await registration.apply([DECLARATION], b"") == [DECLARATION]
        assert await registration.apply([DECLARATION], b"other") == [DECLARATION]  # its bundle
        await cluster.client.delete(found)
        assert await registration.apply([DECLARATION], b"other") == [DECLARATION]
        assert len((await cluster.client.get(ValidatingWebhookConfiguration, DECLARATION.name)).webhooks or []) == 1


@pytest.mark.virtual_time
async def test_where_another_program_injects_the_bundle_nothing_is_asked_of_the_server() -> None:
    async def refused(client: pt.Client, *arguments: Any, **options: Any) -> None:
        raise pt.Forbidden("cert-manager has the permission, this program does not need it")

    async with pt.Cluster.embedded() as cluster:
        client = intercept(cluster.client, Interceptor(get=refused, apply=refused))
        registration = WebhookRegistration(client, HostAddress(IN_PROCESS_HOST), installed=True)
        assert await registration.apply([DECLARATION], b"") == []
        with pytest.raises(pt.Forbidden):
            await registration.apply([DECLARATION], b"bundle")


@pytest.mark.virtual_time
async def test_what_another_program_takes_over_while_it_is_registered_is_left_to_that_program() -> None:
    service = {"service": {"name": "deployed", "namespace": "default", "path": "/validate"}}
    applied = 0

    async with pt.Cluster.embedded() as cluster:

        async def apply(client: pt.Client, obj: Any, **options: Any) -> None:
            nonlocal applied
            applied += 1
            if applied == 2:
                found = await cluster.client.get(obj.gvk, obj.metadata.name)
                found["webhooks"] = DECLARATION.document(service)["webhooks"]
                await cluster.client.update(found, field_owner="kubectl")
            await client.apply(obj, **options)

        registration = WebhookRegistration(
            intercept(cluster.client, Interceptor(apply=apply)), HostAddress(IN_PROCESS_HOST)
        )
        assert await registration.apply([DECLARATION], b"") == [DECLARATION]
        assert await registration.apply([DECLARATION], b"other") == []
        [webhook] = (await cluster.client.get(ValidatingWebhookConfiguration, DECLARATION.name)).webhooks or []
        assert webhook.client_config.service is not None
        assert (applied, webhook.client_config.service.name) == (2, "deployed")
