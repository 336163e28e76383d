"""Ours against a real kube-apiserver: the same webhooks, the same requests, the same reviews and answers.

What the real server sends and answers is recorded in `answers/`, so that ours is compared with it where there is no
real one. `PILOTAGE_RECORD=1` with the `cluster` tests records again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hack.cluster.running import RealCluster
from tests.server.test_differential import difference

from .cases import CASES
from .comparison import Answer, Answers, Case, recorded_text, run_on_ours, run_on_real

CONNECTIONS = ("exec", "port forward", "proxy", "log")
ANSWERS = Path(__file__).parent / "answers"
by_name = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@by_name
@pytest.mark.virtual_time
async def test_ours_calls_and_answers_as_the_real_server_was_recorded(case: Case) -> None:
    ours = await run_on_ours(case)
    wrong = [
        f"\n{real['what']}\n{difference(real, own)}"
        for real, own in zip(recorded(case), ours, strict=True)
        if real | _refused(own) != own
    ]
    assert not wrong, f"{len(wrong)} of {len(ours)} answers differ" + "".join(wrong)


def _refused(own: Answer) -> Answer:
    """The answer to a connection: it is ours, because there are no nodes; its reviews are those of the real server."""
    return {name: own[name] for name in ("body", "status")} if own["what"] in CONNECTIONS else {}


@by_name
@pytest.mark.cluster
async def test_the_recorded_answers_are_the_real_servers(case: Case, real_control_plane: RealCluster) -> None:
    answers = await run_on_real(case, real_control_plane)
    if os.environ.get("PILOTAGE_RECORD"):
        path(case).write_text(recorded_text(answers))
    wrong = [
        f"\n{before['what']}\n{difference(before, now)}"
        for before, now in zip(recorded(case), answers, strict=True)
        if before != now
    ]
    assert not wrong, "".join(wrong)


def recorded(case: Case) -> Answers:
    answers: Answers = json.loads(path(case).read_text())
    return answers


def path(case: Case) -> Path:
    return ANSWERS / f"{case.name}.json"
