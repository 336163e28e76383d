"""Takes the pictures of the live page for the documentation, from a program that greets: `make page-pictures`.

Its objects are as they are in real programs: most are fine, one fails, and one reconciles itself.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pilotage as pt
from hack.chromium.browser import browser
from hack.chromium.devtools import Page, opened_browser
from pilotage.types.core.v1 import ConfigMap, Namespace

WIDTH, HEIGHT, QUALITY = 1400, 900, 82
FAST_RUNS = 230
"""Runs after which the object that reconciles itself does so slowly: by then the loop has a warning."""
_ROW = "[...document.querySelectorAll('main tr.row')].find(row => row.innerText.includes({!r})).click()"
_WRITER = "[...document.querySelectorAll('aside .run')].find(each => !each.innerText.includes('own write'))"
"""The last reconcile in the panel that another program has caused."""
_WRITING_ROW = (
    "[...document.querySelectorAll('main tr.row')].find(row => row.innerText.includes('Greeting default/hello')"
    " && row.cells[6].innerText)"
)
_FIELD = "[...document.querySelectorAll('.document button')].find(each => each.innerText.includes('text:'))"
_log = logging.getLogger("greetings")


class GreetingSpec(pt.Model):
    text: str = ""


class GreetingStatus(pt.Model):
    seen: int = 0
    conditions: list[pt.Condition] = []


@pt.resource(group="example.com", version="v1", status=True)
class Greeting(pt.Resource):
    spec: GreetingSpec = GreetingSpec()
    status: GreetingStatus = GreetingStatus()


class Greeter:
    """Writes the text of a greeting to a ConfigMap."""

    def __init__(self, client: pt.Client) -> None:
        self.client = client

    async def reconcile(self, request: pt.Request) -> pt.Result | None:
        greeting = await self.client.get(Greeting, request.name, namespace=request.namespace)
        await asyncio.sleep(0.012)  # a call of another service
        if request.name == "night":
            raise ConnectionError("the printer of greetings does not answer: connection refused")
        if request.name == "loop":
            await self._reconcile_loop(greeting)
            return None
        meta = pt.ObjectMeta(name=request.name, namespace=request.namespace)
        written = ConfigMap(metadata=meta, data={"text": greeting.spec.text})
        if await pt.create_or_patch(self.client, written, owner=greeting) is not pt.Outcome.UNCHANGED:
            _log.info("Greeting written: %s", greeting.spec.text)
        if not greeting.status.conditions:
            ready = {"type": "Ready", "status": "True", "reason": "Written", "message": ""}
            ready["lastTransitionTime"] = datetime.now(UTC).isoformat(timespec="seconds")
            await self.client.patch_status(greeting, {"status": {"conditions": [ready]}})
        return pt.Result(requeue_after=300) if request.namespace == "shop" else None

    async def _reconcile_loop(self, greeting: Greeting) -> None:
        if greeting.status.seen > FAST_RUNS:
            await asyncio.sleep(0.9)
        await self.client.patch_status(greeting, {"status": {"seen": greeting.status.seen + 1}})


async def reconcile_config(request: pt.Request) -> None:
    await asyncio.sleep(0.031)


@asynccontextmanager
async def greetings() -> AsyncIterator[str]:
    """Run the program for the length of the block; the address of its page."""
    options = pt.ManagerOptions(ui_bind_address="127.0.0.1:0")
    async with pt.Manager(pt.Cluster.embedded(), options) as manager:
        await manager.cluster.install(Greeting)
        greeter = Greeter(manager.client)
        controller = pt.ControllerBuilder(manager).for_(Greeting).owns(ConfigMap)
        controller.with_options(pt.ControllerOptions(max_concurrent_reconciles=4)).complete(greeter.reconcile)
        pt.ControllerBuilder(manager).named("config-cleaner").for_(ConfigMap).complete(reconcile_config)
        tasks = [asyncio.create_task(manager.start())]
        await manager.ready()
        tasks.append(asyncio.create_task(change(manager.cluster.client)))
        try:
            yield str(manager.ui_url)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


async def change(client: pt.Client) -> None:
    """Create the objects, and change some of them again and again."""
    await client.create(Namespace(metadata=pt.ObjectMeta(name="shop")))
    for namespace, name in (("default", "hello"), ("default", "night"), ("shop", "welcome"), ("default", "loop")):
        meta = pt.ObjectMeta(name=name, namespace=namespace)
        await client.create(Greeting(metadata=meta, spec=GreetingSpec(text="hello")))
    texts = ("bye", "good day", "see you", "hello")
    for count in range(1000):
        await asyncio.sleep(1.3)
        text, label = {"spec": {"text": texts[count % 4]}}, {"metadata": {"labels": {"round": str(count)}}}
        for namespace, name in (("default", "hello"), ("shop", "welcome")):
            await client.patch(Greeting, text, name=name, namespace=namespace)
            await client.patch(Greeting, label, name=name, namespace=namespace)


async def take(shown: Page, folder: Path) -> None:
    """Take all pictures."""

    async def picture(name: str, *, dark: bool = False) -> None:
        await asyncio.sleep(2.5)  # until the page has asked again
        await shown.look(width=WIDTH, height=HEIGHT, dark=dark)
        await asyncio.sleep(0.5)
        found = await shown.call("Page.captureScreenshot", format="webp", quality=QUALITY)
        await asyncio.to_thread((folder / f"{name}.webp").write_bytes, base64.b64decode(found["data"]))

    await shown.evaluate(_ROW.format("Greeting default/hello"))
    await shown.until(_WRITER)
    run = await shown.evaluate(f"{_WRITER}.id.slice(4)")
    await shown.evaluate(f"location.hash += '&run={run}'")
    await picture("dashboard-light")
    await picture("dashboard-dark", dark=True)
    await shown.press("3")
    await shown.press("+")
    await asyncio.sleep(2.5)
    await shown.evaluate(f"{_WRITING_ROW}.click()")
    await picture("timeline")
    await shown.press("2")
    await asyncio.sleep(2.5)
    await shown.evaluate(_ROW.format("ConfigMap default/hello"))
    await shown.until("document.querySelector('aside').innerText.includes('yaml')")
    await shown.press("y")
    await shown.until(_FIELD)
    await shown.evaluate(f"{_FIELD}.click()")
    await picture("who-wrote-it", dark=True)


async def run(folder: Path) -> None:
    async with greetings() as url, opened_browser(browser()) as opened:
        shown = await opened.page()
        await shown.look(width=WIDTH, height=HEIGHT)
        await shown.open(url)
        await asyncio.sleep(32)  # the timeline shows 30 seconds
        await shown.press("+")
        await take(shown, folder)


def main() -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
    logging.getLogger("pilotage").setLevel(logging.CRITICAL)
    asyncio.run(run(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
