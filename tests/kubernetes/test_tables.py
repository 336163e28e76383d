from __future__ import annotations

from pilotage.kubernetes.tables import ROWS
from tests.server.recordings import cases as recording
from tests.server.recordings import tables
from tests.server.recordings.tables import NOW

BASES = recording.load_bases()


def test_the_cells_are_those_that_a_kube_apiserver_prints() -> None:
    cells = [(case["id"], cell) for case in recording.load("tables") for cell in tables.cells(case, BASES)]
    assert cells
    assert [each for each in cells if not each[1].agrees] == []


def test_an_object_with_nothing_but_a_name_has_a_row() -> None:
    obj = {"metadata": {"name": "a"}}
    assert [name for name, rows in ROWS.items() if "a" not in rows.cells(obj, NOW)] == []


def test_the_kernel_of_a_node_is_shown_with_its_architecture() -> None:
    system = {"kernelVersion": "6.1", "architecture": "arm64"}
    row = ROWS["nodes"].cells({"metadata": {"name": "a"}, "status": {"nodeInfo": system}}, NOW)
    assert "6.1 (arm64)" in row
