from __future__ import annotations

from collections.abc import Iterator

import pytest

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource
from pilotage.server.tables import builtin, cells
from tests.server.recordings import cases as recording
from tests.server.recordings import tables
from tests.server.recordings.tables import NOW

BASES = recording.load_bases()


@pytest.mark.parametrize("case", recording.load("tables"), ids=lambda case: case["id"].removeprefix("tables/"))
def test_the_cells_are_those_that_a_kube_apiserver_prints(case: Document) -> None:
    assert [cell for cell in tables.cells(case, BASES) if not cell.agrees] == []


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


def test_the_kernel_of_a_node_is_shown_with_its_architecture() -> None:
    system = {"kernelVersion": "6.1", "architecture": "arm64"}
    row = builtin.printer(GroupResource("", "nodes"))({"metadata": {"name": "a"}, "status": {"nodeInfo": system}}, NOW)
    assert "6.1 (arm64)" in row
