"""Expensive rules on large objects are refused by their cost, or run with little memory. Their time is in `bench`."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from hack.schema.hostile_rules import OBJECTS, RULES

MEBIBYTES = 64
SOME = (
    "classes",
    "many different texts",
    "numbers",
    "a map",
    "a deep object",
    "a wide object",
    "many objects",
    "times",
)


def check(*names: str) -> set[str]:
    """Run the rules on these objects; returns the rules that were run."""
    command = [sys.executable, "-m", "hack.schema.hostile_rules", *names]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row[0] for row in rows} == set(names)
    assert [row for row in rows if row[3] > MEBIBYTES] == []
    ran = {row[1] for row in rows}
    refused = {row[1] for row in rows if any("cost" in cause for cause in row[4])}
    assert len(refused) > len(ran) / 2  # the objects are expensive
    return ran


def test_expensive_rules_are_refused_or_take_little_memory() -> None:
    check(*SOME)


@pytest.mark.long
def test_expensive_rules_are_refused_or_take_little_memory_on_every_object() -> None:
    assert check(*OBJECTS) == set(RULES)
