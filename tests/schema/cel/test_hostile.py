"""Whatever a rule does with whatever object may be stored, it ends soon and with little memory, or is refused."""

from __future__ import annotations

import json
import subprocess
import sys

from .hostile_rules import OBJECTS, RULES

SECONDS = 0.25
MEBIBYTES = 64


def test_rules_that_mean_harm_take_a_quarter_of_a_second_and_64_mebibytes_at_most() -> None:
    command = [sys.executable, "-m", "tests.schema.cel.hostile_rules"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert {row[0] for row in rows} == set(OBJECTS)
    assert {row[1] for row in rows} == set(RULES)
    assert [row for row in rows if row[2] > SECONDS or row[3] > MEBIBYTES] == []
    refused = {row[1] for row in rows if any("cost" in message for message in row[4])}
    assert len(refused) > len(RULES) / 2  # the objects do mean harm
