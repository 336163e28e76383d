from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import DecodeError
from pilotage.meta.text.limits import DocumentLimits, check_depth


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"k": value}
    return value


def test_managed_fields_may_be_deeper_than_what_they_describe() -> None:
    limits = DocumentLimits(depth=10)
    entries = [{"fieldsV1": nested(11)}]
    check_depth({"metadata": {"managedFields": entries}, "spec": nested(9)}, limits)
    for document in (
        {"metadata": {"managedFields": entries}, "spec": nested(10)},
        {"metadata": {"managedFields": [{"fieldsV1": nested(13)}]}},
        {"spec": {"metadata": {"managedFields": entries}}},
    ):
        with pytest.raises(DecodeError, match="nested deeper than 10 levels"):
            check_depth(document, limits)
