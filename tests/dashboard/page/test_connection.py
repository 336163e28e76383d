"""The page while its program is away, and after it was started again."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap
from tests.dashboard.page.reports import text, until_text
from tests.dashboard.pages import opened_page
from tests.dashboard.program import Book, BookReconciler, new_book

pytestmark = pytest.mark.page


@asynccontextmanager
async def running_books(port: int = 0) -> AsyncIterator[str]:
    """Run a program with a page for the length of the block; the address of its page."""
    logging.getLogger("pilotage").setLevel(logging.CRITICAL)
    options = pt.ManagerOptions(ui_bind_address=f"127.0.0.1:{port}")
    async with pt.Manager(pt.Cluster.embedded(), options) as manager:
        await manager.cluster.install(Book)
        reconciler = BookReconciler(manager.client)
        pt.ControllerBuilder(manager).for_(Book).owns(ConfigMap).named("books").complete(reconciler.reconcile)
        task = asyncio.create_task(manager.start())
        try:
            await manager.ready()
            await manager.cluster.client.create(new_book("a"))
            await manager.cluster.client.create(new_book("b", title=""))
            yield str(manager.ui_url)
        finally:
            task.cancel()
            await asyncio.wait([task])


async def test_the_page_shows_that_it_is_disconnected_and_goes_on_after_a_restart() -> None:
    async with opened_page() as shown:
        async with running_books() as url:
            await shown.open(url)
            await until_text(shown, "the book has no title", "main")
        await until_text(shown, "Disconnected:", "#banner")
        assert "next attempt" in await text(shown, "#banner")
        assert "the book has no title" in await text(shown, "main")  # what was known remains
        async with running_books(urlsplit(url).port or 0) as again:
            assert again != url
            await until_text(shown, "The program refuses the token of this page.", "#banner")
            await shown.evaluate("document.querySelector('#banner input').focus()")
            await shown.type(again)
            await shown.press("Enter")
            await until_text(shown, "The program was started again", "#banner")
            await until_text(shown, "the book has no title", "main")
            assert await shown.evaluate("location.href") == f"{again}&view=overview"


async def test_the_new_address_in_the_same_tab_connects_too() -> None:
    async with opened_page() as shown, running_books() as url:
        await shown.open(url.replace("token=", "token=old"))
        await until_text(shown, "refuses the token", "#banner")
        await shown.evaluate(f"location.href = {url!r}")
        await until_text(shown, "the book has no title", "main")
        assert await text(shown, "#banner") == ""


async def test_new_reconciles_come_without_a_reload() -> None:
    async with opened_page() as shown, running_books() as url:
        await shown.open(f"{url}&kind=Book.books.pilotage.dev&namespace=default&name=b")
        await until_text(shown, "Book default/b", "aside")
        count = await shown.evaluate("document.querySelectorAll('aside .run').length")
        await shown.until(f"document.querySelectorAll('aside .run').length > {count}")
        await until_text(shown, "retry after", "aside")
        assert shown.errors == []


async def test_an_object_is_copied_as_a_test() -> None:
    async with opened_page() as shown, running_books() as url:
        await shown.open(f"{url}&kind=Book.books.pilotage.dev&namespace=default&name=a")
        await until_text(shown, "copy as test", "aside")
        await shown.evaluate(
            "[...document.querySelectorAll('aside button')].find(each => each.innerText === 'copy as test').click()"
        )
        await shown.until("document.querySelector('textarea')?.value.includes('async def test_book_a')")
