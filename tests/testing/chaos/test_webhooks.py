"""A program with webhooks under faults: each life serves its own, and none is missing in between."""

from __future__ import annotations

import pilotage as pt
from examples.webhooks import GuestBook, GuestBookSpec, GuestBookWebhook
from pilotage.testing import Environment, chaos


async def setup(manager: pt.Manager) -> None:
    webhook, client = GuestBookWebhook(), manager.client
    pt.WebhookBuilder(manager).for_(GuestBook).with_defaulter(webhook).with_validator(webhook).complete()

    async def reconcile(request: pt.Request) -> None:
        book = await client.get(GuestBook, request)
        if book.metadata.labels.get("seen") != "yes":
            await client.patch(book, {"metadata": {"labels": {"seen": "yes"}}})

    pt.ControllerBuilder(manager).for_(GuestBook).complete(reconcile)


async def scenario(env: Environment) -> None:
    await env.cluster.install(GuestBook)
    client = env.client.with_namespace("default")
    async with env.running(setup):
        await env.run_until_idle()
        await client.create(GuestBook(metadata=pt.ObjectMeta(name="summer"), spec=GuestBookSpec(title="Summer")))
        await env.run_until_idle()
        assert (await client.get(GuestBook, "summer")).spec.size == "A4"
        await client.patch(GuestBook, {"spec": {"title": "Winter"}}, name="summer")
        await env.run_until_idle()


def test_webhooks_answer_whatever_happens_to_the_program() -> None:
    report = chaos.explore(scenario, plans=60)
    assert not report.failures, str(report)
