from __future__ import annotations

import pytest

from pilotage.meta.documents import Document
from pilotage.meta.kinds import GroupResource
from pilotage.server.tables import builtin
from tests.server.recordings import cases as recording
from tests.server.recordings import tables
from tests.server.recordings.tables import NOW

BASES = recording.load_bases()


@pytest.mark.parametrize("case", recording.load("tables"), ids=lambda case: case["id"].removeprefix("tables/"))
def test_the_cells_are_those_that_a_kube_apiserver_prints(case: Document) -> None:
    assert [cell for cell in tables.cells(case, BASES) if not cell.agrees] == []


@pytest.mark.parametrize("resource", sorted(builtin.PRINTERS))
def test_an_object_with_nothing_but_a_name_has_a_row(resource: str) -> None:
    assert "a" in builtin.PRINTERS[resource]({"metadata": {"name": "a"}}, NOW)


def test_the_kernel_of_a_node_is_shown_with_its_architecture() -> None:
    system = {"kernelVersion": "6.1", "architecture": "arm64"}
    row = builtin.printer(GroupResource("", "nodes"))({"metadata": {"name": "a"}, "status": {"nodeInfo": system}}, NOW)
    assert "6.1 (arm64)" in row
