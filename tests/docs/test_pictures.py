"""The diagrams of the documentation are those that `make pictures` draws."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from hack.pictures.diagrams import DIAGRAMS, Arrow, Box, Diagram

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_diagram_is_drawn_from_its_description(name: str) -> None:
    assert (PICTURES / name).read_text() == DIAGRAMS[name].svg(), "run make pictures"


@pytest.mark.parametrize("name", DIAGRAMS)
def test_a_diagram_is_well_formed_and_its_boxes_stand_within_it(name: str) -> None:
    diagram = DIAGRAMS[name]
    ET.fromstring(diagram.svg())
    boxes = [part for part in diagram.parts if isinstance(part, Box)]
    assert all(box.left + box.width <= diagram.width and box.top + box.height <= diagram.height for box in boxes)


def test_text_that_is_markup_is_escaped() -> None:
    diagram = Diagram("a < b", 10, 10, (Box(0, 0, 5, 5, "<script>", ("&",)), Arrow(((0, 0), (5, 5)), label="<")))
    assert "<script>" not in diagram.svg()
    ET.fromstring(diagram.svg())
