"""The two examples of waiting, each in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .. import forked

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    ("example", "line", "fields", "last"),
    [
        ("wait_for_secret.py", "Waiting for Secret", {"name": "shop", "secret": "shop-login"}, "the App is Ready"),
        ("wait_for_network.py", "Waiting for VPC", {"name": "front", "vpc": "main"}, "the Subnet is Ready"),
    ],
)
def test_the_examples_of_waiting_log_what_they_wait_for(
    example: str, line: str, fields: dict[str, str], last: str
) -> None:
    ran = forked.run(str(EXAMPLES / example))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == last
    events = [json.loads(text) for text in ran.stderr.splitlines()]
    waiting = [event for event in events if event["message"] == line]
    assert waiting
    assert {**waiting[0], **fields} == waiting[0]
