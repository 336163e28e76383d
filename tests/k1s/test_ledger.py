"""The tests that the ledger names exist, and every id has one."""

from __future__ import annotations

import re
from pathlib import Path

from tests.acceptance import GROUPS, REASONS
from tests.k1s.ledger import SHOWN

TESTS = Path(__file__).parent.parent
GROUP_NAMES = ("defects of k1s", "work tracking and shutdown")


def test_every_test_that_is_named_exists() -> None:
    named = {tuple(name.split("::")) for names in SHOWN.values() for name in names}
    missing = [(file, name) for file, name in named if f"def {name}(" not in (TESTS / file).read_text()]
    assert missing == []


def test_every_defect_and_every_requirement_has_a_test_or_a_reason() -> None:
    marked = {
        found
        for path in ("k1s/test_defects.py", "manager/test_finishing.py")
        for marker in re.findall(r"mark\.covers\(([^)]*)\)", (TESTS / path).read_text())
        for found in re.findall(r'"(\w+)"', marker)
    }
    wanted = [one for name in GROUP_NAMES for one in GROUPS[name]]
    assert [one for one in wanted if one not in marked and one not in SHOWN and one not in REASONS] == []
