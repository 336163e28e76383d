"""Reports with made-up data, which show the page what a program would need long for: many objects, hostile texts."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from hack.chromium.devtools import Page
from pilotage.dashboard.page import report_page
from tests.dashboard.pages import opened_page

KIND = "Book.books.pilotage.dev"
LONG_KIND = ["books.pilotage.dev", "v1", "Book"]
NOON = "2026-01-31T12:00:00.000000Z"


def second(number: float) -> str:
    """A time after noon."""
    return f"2026-01-31T12:{int(number) // 60:02}:{number % 60:09.6f}Z"


def report(**changes: Any) -> dict[str, Any]:
    """A report of a program in which nothing has happened, with some parts replaced."""
    empty = {
        "title": "tests/test_books.py::test_books",
        "failure": "",
        "overview": overview(),
        "objects": {"total": 0, "kinds": [], "rows": []},
        "documents": {},
        "versions": {},
        "reconciles": [],
        "summaries": [],
        "timeline": {"bars": [], "events": [], "writes": [], "more": False},
    }
    return empty | changes


def overview(attention: Sequence[Mapping[str, Any]] = (), controllers: Sequence[str] = ()) -> dict[str, Any]:
    program = {"name": "books", "pid": 1, "version": "1", "started": NOON, "python": "3.11", "storage": "memory"}
    rows = [
        {"name": name, "kind": KIND, "rate": 1.5, "queued": 0, "delayed": 0, "running": 0, "workers": 1}
        | {"errors": 0, "p50": 0.001, "p95": 0.002, "last": second(1), "series": None}
        for name in controllers
    ]
    return {"program": program, "now": second(60), "from": NOON, "leader": {"state": "off", "holder": ""}} | {
        "shards": [],
        "controllers": rows,
        "watches": [],
        "attention": [*attention],
    }


def attention(name: str, text: str = "failed 3 times, last with RuntimeError: closed") -> dict[str, Any]:
    return {
        "level": "error",
        "title": f"books default/{name}",
        "text": text,
        "next": second(90),
        "place": "books.py:12",
    } | {
        "kind": KIND,
        "namespace": "default",
        "name": name,
        "reconcile": 1,
    }


def row(name: str, **changes: Any) -> dict[str, Any]:
    made = {
        "kind": KIND,
        "api_version": "books.pilotage.dev/v1",
        "namespace": "default",
        "name": name,
        "version": "7",
        "age": 60.0,
        "state": {"word": "Ready", "sign": "ok"},
        "conditions": [],
        "owner": None,
        "depth": 0,
        "runs": 1,
        "last": 1,
        "last_result": "success",
        "last_at": second(1),
        "next": None,
    }
    return made | changes


def objects(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {"total": len(rows), "kinds": [{"kind": KIND, "count": len(rows)}], "rows": [*rows]}


def reconcile(number: int, name: str, at: float, **changes: Any) -> dict[str, Any]:
    """A reconcile that was caused by two events, and has written the title of its object."""
    of = {"kind": LONG_KIND, "namespace": "default", "name": name}
    change = {"path": "spec.title", "old": "Ulysses", "new": "Odyssey"}
    made = {
        "number": number,
        "controller": "books",
        **of,
        "began": second(at),
        "seconds": 0.002,
        "causes": [
            {**of, "version": "6", "type": "update", "at": second(at - 0.1), "changes": [change]},
            {**of, "version": "7", "type": "update", "at": second(at - 0.05)},
        ],
        "steps": [
            {**of, "type": "read", "version": "7"},
            {**of, "type": "write", "verb": "patch", "version": "8", "at": second(at), "changes": [change]},
            {"type": "log", "level": "INFO", "at": second(at), "text": "title written"},
        ],
        "result": "success",
    }
    return made | changes


def bar(number: int, name: str, at: float, **changes: Any) -> dict[str, Any]:
    of = {"kind": KIND, "namespace": "default", "name": name, "key": f"default/{name}"}
    return {"number": number, "lane": "books", **of, "began": second(at), "seconds": 0.002} | {
        "result": "success",
        "caused_by": [],
        **changes,
    }


@asynccontextmanager
async def opened_report(folder: Path, data: Mapping[str, Any], view: str = "overview") -> AsyncIterator[Page]:
    """A tab in which a report is open, as a file."""
    file = folder / "report.html"
    file.write_bytes(report_page(json.dumps(data).encode(), data["title"]))
    async with opened_page() as shown:
        await shown.open(f"{file.as_uri()}#view={view}")
        await shown.until("document.querySelector('header').innerText.includes('report')")
        yield shown
        assert shown.errors == []
        assert await shown.violations() == []
        assert shown.requests == [f"{file.as_uri()}"] or shown.requests == [f"{file.as_uri()}#view={view}"]


async def text(shown: Page, selector: str = "body") -> str:
    """What a person reads in a part of the page."""
    return str(await shown.evaluate(f"document.querySelector({selector!r}).innerText"))


async def until_text(shown: Page, wanted: str, selector: str = "body") -> None:
    """Wait until a part of the page has a text."""
    await shown.until(f"document.querySelector({selector!r}).innerText.includes({json.dumps(wanted)})")
