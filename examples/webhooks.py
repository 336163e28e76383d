"""Admission webhooks on any of the worlds: an object is defaulted, checked, refused with field paths.

    python webhooks.py memory:       the embedded API server calls them in process: no socket, no certificate
    python webhooks.py cluster       a real cluster calls them over HTTPS; the certificate is made, kept and injected

A second program's write meets them too: they belong to the server, not to this client.
"""

import asyncio
import sys
from typing import Annotated

import pilotage as pt


class GuestBookSpec(pt.Model):
    title: str
    pages: Annotated[int, pt.Minimum(1)] = 10
    size: str | None = None


@pt.resource(group="webhooks.pilotage.dev", version="v1")
class GuestBook(pt.Resource):
    spec: GuestBookSpec


class GuestBookWebhook:
    """Fills in the size, and keeps books from shrinking."""

    async def default(self, book: GuestBook) -> None:
        if book.spec.size is None:
            book.spec.size = "A4"

    async def validate_create(self, book: GuestBook) -> list[str]:
        if book.spec.title.islower():
            raise pt.Invalid.of(book, pt.field.invalid("spec.title", book.spec.title, "must begin with a capital letter"))
        return ["large books are slow to print"] if book.spec.pages > 1000 else []

    async def validate_update(self, old: GuestBook, book: GuestBook) -> list[str]:
        if book.spec.pages < old.spec.pages:
            raise pt.Invalid.of(book, pt.field.invalid("spec.pages", book.spec.pages, "may not shrink"))
        return []

    async def validate_delete(self, book: GuestBook) -> list[str]:
        if book.metadata.labels.get("keep") == "yes":
            raise pt.Forbidden("it is labelled to be kept")
        return []


async def main(world: str) -> None:
    cluster = pt.Cluster.connect() if world == "cluster" else pt.Cluster.embedded(world)
    async with pt.Manager(cluster) as manager:
        await cluster.install(GuestBook)
        webhook = GuestBookWebhook()
        pt.WebhookBuilder(manager).for_(GuestBook).with_defaulter(webhook).with_validator(webhook).complete()
        serving = asyncio.create_task(manager.start())  # serves them, registers them, and is ready when they are called
        await manager.ready()

        client = cluster.client.with_namespace("default")
        book = await client.create(GuestBook(metadata=pt.ObjectMeta(name="summer"), spec=GuestBookSpec(title="Summer")))
        print("defaulted:", book.spec.size)
        for attempt in (
            client.create(GuestBook(metadata=pt.ObjectMeta(name="winter"), spec=GuestBookSpec(title="winter"))),
            client.patch(book, {"spec": {"pages": 5}}),
        ):
            try:
                await attempt
            except pt.Invalid as error:
                print("refused:", *(f"{cause.field}: {cause.message}" for cause in error.causes))
        await client.patch(book, {"metadata": {"labels": {"keep": "yes"}}})
        try:
            await client.delete(book)
        except pt.Forbidden as error:
            print("refused:", error)
        await client.patch(book, {"metadata": {"labels": {"keep": "no"}}})
        await client.delete(book)
        print("deleted")
        serving.cancel()
        await asyncio.wait([serving])


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "memory:"))
    except pt.PilotageError as error:
        raise SystemExit(f"webhooks: {error}") from None
