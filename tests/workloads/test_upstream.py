"""The tests of Kubernetes' own controllers, and those here that are their ports: `upstream.json`.

The rows are the tests of `pkg/controller` in 1.36; a value is a test here, or `not ported` with the reason.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TABLE: dict[str, dict[str, str]] = json.loads((HERE / "upstream.json").read_text())
ROWS = [(f"{file}::{name}", port) for file, rows in TABLE.items() for name, port in rows.items()]


@pytest.mark.parametrize(("name", "port"), ROWS, ids=[name for name, _ in ROWS])
def test_a_test_of_upstream_has_a_port_or_a_reason(name: str, port: str) -> None:
    reason = port.removeprefix("not ported: ")
    if reason != port:
        assert reason
        return
    file, _, function = port.partition("::")
    assert f"def {function}(" in (HERE / file).read_text(), name
