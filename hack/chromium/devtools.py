"""A client of a headless Chromium, by its DevTools protocol over a pipe: no driver and no download are needed."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_SECONDS = 60.0
_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # tests run as root
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--mute-audio",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
_START = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(each), fcntl.F_DUPFD, 10) for each in sys.argv[1:3]]
for number, end in zip((3, 4), ends):
    os.dup2(end, number)
    os.close(end)
os.execv(sys.argv[3], sys.argv[3:])
"""
# The browser reads commands from 3 and writes answers to 4.
_OBSERVE = """
window.__tasks = [];
new PerformanceObserver(list => list.getEntries().forEach(entry => window.__tasks.push(entry.duration)))
  .observe({type: 'longtask', buffered: true});
window.__violations = [];
document.addEventListener('securitypolicyviolation',
  event => window.__violations.push(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample));
"""


class BrowserFailed(Exception):
    """The browser does not answer, or a script in the page failed."""


@asynccontextmanager
async def opened_browser(program: str) -> AsyncIterator[Browser]:
    """Run a browser for the length of the block."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        to_read, to_write = os.pipe(), os.pipe()  # for the browser
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", _START, str(to_read[0]), str(to_write[1]), program, *_FLAGS),
            *(f"--user-data-dir={folder}", "about:blank"),
            pass_fds=(to_read[0], to_write[1]),
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_read[0])
        os.close(to_write[1])
        browser = Browser(to_read[1], to_write[0])
        try:
            await browser.open()
            yield browser
        finally:
            await browser.close()
            with suppress(ProcessLookupError):
                process.terminate()
            try:
                async with asyncio.timeout(_SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
                await process.wait()


@dataclass
class Page:
    """One tab."""

    browser: Browser
    session: str
    errors: list[str] = field(default_factory=list)
    """Errors and warnings of the console, and exceptions."""
    requests: list[str] = field(default_factory=list)
    received: int = 0
    """Bytes of bodies and events that the page has received."""

    async def call(self, method: str, **parameters: Any) -> Any:
        return await self.browser.call(method, self.session, **parameters)

    async def open(self, url: str) -> None:
        await self.call("Page.navigate", url=url)
        await self.until("document.readyState === 'complete'")

    async def evaluate(self, expression: str) -> Any:
        """The value of an expression; a promise is awaited."""
        found = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise BrowserFailed(f"{expression[:200]}: {_exception(found['exceptionDetails'])}")
        return found["result"].get("value")

    async def until(self, expression: str, seconds: float = 30.0) -> Any:
        """Wait until an expression is true, looking at each frame; its value."""
        script = f"""new Promise((resolve, reject) => {{
            const end = performance.now() + {seconds * 1000};
            const look = () => {{
                let found; try {{ found = ({expression}); }} catch (error) {{ found = undefined; }}
                if (found) resolve(found);
                else if (performance.now() > end) reject(new Error('not true after {seconds} s'));
                else setTimeout(look, 20);
            }};
            look();
        }})"""
        return await self.evaluate(script)

    async def press(self, key: str) -> None:
        """Press a key: a letter, or `Enter`, `Escape`, `Tab`, `ArrowDown`."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowDown": 40, "ArrowUp": 38}.get(key, ord(key[0].upper()))
        how = {"key": key, "windowsVirtualKeyCode": code}
        await self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **how)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **how)

    async def type(self, text: str) -> None:
        await self.call("Input.insertText", text=text)

    async def picture(self, file: Path, *, width: int = 1440, height: int = 860, dark: bool = False) -> None:
        """Save a picture of the page."""
        await self.look(width=width, height=height, dark=dark)
        found = await self.call("Page.captureScreenshot", format="png")
        await asyncio.to_thread(file.write_bytes, base64.b64decode(found["data"]))

    async def look(self, *, width: int = 1440, height: int = 860, dark: bool = False) -> None:
        """Set the size of the page, and its colours."""
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def longest_task(self) -> float:
        """The longest task of the main thread so far that took at least 50 ms, in seconds."""
        return float(await self.evaluate("Math.max(0, ...window.__tasks)")) / 1000

    async def first_paint(self) -> float:
        """Seconds until the first content was painted; 0.0: nothing was."""
        script = "(performance.getEntriesByName('first-contentful-paint')[0] || {startTime: 0}).startTime"
        return float(await self.evaluate(script)) / 1000

    async def violations(self) -> list[str]:
        """What the content security policy has refused."""
        found: list[str] = await self.evaluate("window.__violations")
        return found

    def handle(self, method: str, parameters: Any) -> None:
        """Take an event of the protocol."""
        if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            shown = (str(each.get("value", each.get("description", ""))) for each in parameters["args"])
            self.errors.append(" ".join(shown))
        elif method == "Runtime.exceptionThrown":
            self.errors.append(_exception(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.errors.append(f"{parameters['entry']['text']} {parameters['entry'].get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Network.dataReceived":
            self.received += parameters["dataLength"]


class Browser:
    """A running browser."""

    def __init__(self, write_to: int, read_from: int) -> None:
        self._writing = os.fdopen(write_to, "wb")
        self._reading = os.fdopen(read_from, "rb", buffering=0)
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._pages: dict[str, Page] = {}
        self._transport: asyncio.BaseTransport | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.connect_read_pipe(lambda: _Messages(self._receive), self._reading)

    async def close(self) -> None:
        with suppress(BrowserFailed, TimeoutError, OSError):
            await self.call("Browser.close")
        if self._transport is not None:
            self._transport.close()
        self._writing.close()

    async def page(self) -> Page:
        """A new tab, whose console, requests and long tasks are noted."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = self._pages[attached["sessionId"]] = Page(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            await page.call(f"{domain}.enable")
        await page.call("Page.addScriptToEvaluateOnNewDocument", source=_OBSERVE)
        await page.look()
        return page

    async def call(self, method: str, session: str = "", /, **parameters: Any) -> Any:
        """Call a method of the protocol. Raises BrowserFailed."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        future = self._answers[number] = asyncio.get_running_loop().create_future()
        try:
            await asyncio.to_thread(self._write, json.dumps(message).encode() + b"\0")
            async with asyncio.timeout(_SECONDS):
                answer = await future
        finally:
            self._answers.pop(number, None)
        if "error" in answer:
            raise BrowserFailed(f"{method}: {answer['error'].get('message', answer['error'])}")
        return answer["result"]

    def _write(self, data: bytes) -> None:
        self._writing.write(data)
        self._writing.flush()

    def _receive(self, data: bytes) -> None:
        message = json.loads(data)
        if "id" in message:
            future = self._answers.get(message["id"])
            if future is not None and not future.done():
                future.set_result(message)
        elif (page := self._pages.get(message.get("sessionId", ""))) is not None:
            page.handle(message["method"], message["params"])


class _Messages(asyncio.Protocol):
    """Splits what the browser sends at its zero bytes."""

    def __init__(self, receive: Any) -> None:
        self._receive = receive
        self._parts: list[bytes] = []

    def data_received(self, data: bytes) -> None:
        *complete, rest = data.split(b"\0")
        for each in complete:
            self._receive(b"".join([*self._parts, each]))
            self._parts.clear()
        self._parts.append(rest)


def _exception(details: Any) -> str:
    shown = details.get("exception", {}).get("description") or details.get("text", "")
    return str(shown)
