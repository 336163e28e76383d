"""The live page with 10,000 objects and 1,000 events a second, in a headless Chromium.

    python -m bench.dashboard

Prints the time to the first paint, the longest task of the main thread of the page, the CPU time of the program with
and without a viewer, what of it is computed for the page, and the bytes that one viewer receives.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
from pathlib import Path

from hack.chromium.browser import browser
from hack.chromium.devtools import Page, opened_browser
from hack.chromium.loaded import Load, Span, opened_load
from pilotage.dashboard import page

ROUNDS = 3
SECONDS = 10.0
WARM_UP = 5.0
"""Seconds after the page was opened, in which it asks for everything once."""


async def one_round(load: Load, shown: Page) -> Span:
    """Measure without a viewer, then with one."""
    alone = await load.measure(SECONDS)
    await shown.open(load.url)
    await asyncio.sleep(WARM_UP)
    received = shown.received
    viewed = await load.measure(SECONDS)
    size = (shown.received - received) / SECONDS
    paint, longest = await shown.first_paint(), await shown.longest_task()
    print(f"  first paint                 {paint * 1000:8.0f} ms")
    print(f"  longest task of the page    {longest * 1000:8.0f} ms   (0: none took 50 ms)")
    print(f"  program without a viewer    {alone.cpu * 100:8.1f} %    of a core, {alone.reconciles:.0f} reconciles/s")
    print(f"  program with one viewer     {viewed.cpu * 100:8.1f} %    of a core, {viewed.reconciles:.0f} reconciles/s")
    print(f"  computed for the page       {viewed.page * 100:8.2f} %    of a core")
    print(f"  sent to the page            {size / 1000:8.1f} kB/s")
    await shown.call("Page.navigate", url="about:blank")
    return viewed


async def run(objects: int, events: float, file: Path) -> None:
    async with opened_load(objects, events, file) as load, opened_browser(browser()) as opened:
        spans = []
        for number in range(ROUNDS):
            print(f"round {number + 1}: {objects} objects, {events:.0f} events a second")
            spans.append(await one_round(load, await opened.page()))
    median = statistics.median(span.page for span in spans)
    print(f"median: {median * 100:.2f} % of a core is computed for the page")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--objects", type=int, default=10_000)
    parser.add_argument("--events", type=float, default=1000.0)
    parser.add_argument("--page", type=Path, default=page.FILE, help="another file of the page")
    chosen = parser.parse_args()
    if not browser():
        raise SystemExit("there is no Chromium: python3 hack/chromium/browser.py installs it as root")
    asyncio.run(run(chosen.objects, chosen.events, chosen.page))


if __name__ == "__main__":
    main()
