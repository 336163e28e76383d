"""The registry answers as the recorded kube-apiserver did; `make recordings` replays all cases, this is a sample."""

from __future__ import annotations

from itertools import islice

from tests.server.recordings import cases as recording
from tests.server.recordings.agreement import COUNTED, Agreement, thresholds
from tests.server.recordings.replay import replay

STRIDE = 37
MARGIN = 2.0
"""Percent that a sample may be below the whole."""


async def test_a_sample_of_the_recorded_answers_agrees_as_the_thresholds_say() -> None:
    bases = recording.load_bases()
    kinds = await replay(islice(recording.cases(bases), 0, None, STRIDE), bases)
    least = thresholds()
    for index, aspect in enumerate(COUNTED):
        total = Agreement()
        wanted = 0.0
        for kind, agreement in kinds.items():
            total.add(agreement)
            wanted += agreement.total[aspect] * least[kind][index]
        assert total.percent(aspect) >= wanted / total.total[aspect] - MARGIN, aspect


async def test_a_difference_lowers_the_agreement() -> None:
    bases = recording.load_bases()
    case = next(recording.cases(bases, ("defaults",)))
    other = recording.Case(case.record | {"code": 422, "reason": "Invalid"}, case.base)
    kinds = await replay([other], bases)
    assert kinds["Pod"].percent("verdicts") == 0


def test_every_kind_of_the_recordings_has_thresholds() -> None:
    bases = recording.load_bases()
    assert {case.title for case in recording.cases(bases)} == set(thresholds())
