from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from pilotage.server.tables.custom import printer

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def cell(value: Any, kind: str = "string") -> Any:
    shown = printer([{"name": "A", "type": kind, "jsonPath": ".spec.a"}])
    return shown({"metadata": {"name": "w"}, "spec": {"a": value}}, NOW)[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"k": "a>b"}, r'{"k":"a\u003eb"}'),
        (["<&\u2028ü"], r'["\u003c\u0026\u2028ü"]'),
        (1.5, "1.5"),
        (2.0, "2"),
        (10_000_000, "10000000"),
        (999999.5, "999999.5"),
        (1234567.5, "1.2345675e+06"),
        (-1234567.25, "-1.23456725e+06"),
        (10**19, "1e+19"),
        (0.0001, "0.0001"),
        (1.2e-7, "1.2e-07"),
    ],
)
def test_a_column_of_texts_prints_values_as_go_does(value: Any, text: str) -> None:
    assert cell(value) == text


def test_a_column_of_numbers_has_the_precision_of_floats() -> None:
    assert (cell(9007199254740993, "number"), cell(1.5, "number")) == (9007199254740992, 1.5)
