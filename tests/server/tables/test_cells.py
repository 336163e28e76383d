from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from pilotage.meta.kinds import GroupResource
from pilotage.server.strategies import events
from pilotage.server.tables import builtin, cells, custom
from pilotage.server.tables.cells import Printer
from tests.server.recordings.cases import FOLDER, load_bases

NOW = datetime(2026, 11, 16, tzinfo=UTC)
CREATED = "2026-11-15T23:00:00Z"
CASES = [json.loads(line) for line in gzip.decompress((FOLDER / "tables.jsonl.gz").read_bytes()).splitlines()]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"].removeprefix("tables/"))
def test_the_cells_are_those_that_a_kube_apiserver_prints(case: dict[str, Any]) -> None:
    rows = case["rows"]["cells"] if isinstance(case["rows"], dict) else case["rows"]
    printer = _printer(case)
    different = [
        f"{column}: {ours!r}, not {theirs!r}"
        for row, document in zip(rows, case["objects"], strict=True)
        for column, ours, theirs in zip(case["columns"], printer(_stored(document), NOW), row, strict=True)
        if not _alike(ours, theirs)
    ]
    assert different == []


def _printer(case: dict[str, Any]) -> Printer:
    if case["group"] != "tables.example":
        return builtin.printer(GroupResource(case["group"], case["resource"]["resource"]))
    (version,) = (
        version
        for version in load_bases()["gadgets"]["definition"]["spec"]["versions"]
        if version["name"] == case["version"]
    )
    return custom.printer(msgspec.convert(version.get("additionalPrinterColumns", []), list[custom.PrinterColumn]))


def _stored(document: dict[str, Any]) -> dict[str, Any]:
    document["metadata"].setdefault("creationTimestamp", CREATED)
    return events.CORE_STRATEGY.convert(document) if "regarding" in document else document


def _alike(ours: object, theirs: object) -> bool:
    if isinstance(ours, str) and isinstance(theirs, str):
        pattern = re.escape(theirs).replace("<age>", r"\S+").replace("<time>", CREATED)
        return re.fullmatch(pattern, ours) is not None
    return type(ours) is type(theirs) and ours == theirs


def _durations() -> Iterator[tuple[int, str]]:
    minute, hour, day, year = 60, 3600, 86400, 365 * 86400
    yield from [(-5, "<invalid>"), (-1, "0s"), (0, "0s"), (119, "119s"), (120, "2m"), (125, "2m5s")]
    yield from [(10 * minute, "10m"), (179 * minute + 59, "179m"), (3 * hour, "3h"), (3 * hour + 61, "3h1m")]
    yield from [(8 * hour, "8h"), (47 * hour, "47h"), (2 * day, "2d"), (2 * day + 5 * hour, "2d5h"), (8 * day, "8d")]
    yield from [(729 * day, "729d"), (2 * year, "2y"), (3 * year + 9 * day, "3y9d"), (9 * year + day, "9y")]


@pytest.mark.parametrize(("seconds", "text"), list(_durations()))
def test_a_length_of_time_has_fewer_units_the_longer_it_is(seconds: int, text: str) -> None:
    assert cells.duration(seconds) == text


@pytest.mark.parametrize("resource", sorted((group, name) for group, row in builtin.PRINTERS.items() for name in row))
def test_an_object_with_nothing_but_a_name_has_a_row(resource: tuple[str, str]) -> None:
    row = builtin.printer(GroupResource(*resource))({"metadata": {"name": "a"}}, NOW)
    assert "a" in row
