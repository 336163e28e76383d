"""The figures of a controller: rate, errors, durations and queue over five minutes."""

from __future__ import annotations

import pytest

from pilotage.dashboard.state.figures import WINDOW, Tally, bin_of, quantile
from pilotage.dashboard.values import Series
from pilotage.history.records import TextNote
from tests.counting import counted_lines
from tests.dashboard.records import Happened, new_history, recorded

HISTORY = new_history()
JOURNAL = HISTORY.journal("c", None)


def tally_of(*several: Happened) -> Tally:
    tally = Tally()
    for each in several:
        tally.add(recorded(JOURNAL, each))
    return tally


def series_of(tally: Tally, now: float) -> Series:
    found = tally.figures(now, HISTORY.time_of, with_series=True).series
    assert found is not None
    return found


def test_the_rate_is_of_the_last_ten_seconds() -> None:
    tally = tally_of(*(Happened(second, second + 0.1) for second in range(100)))
    assert tally.figures(100.0, HISTORY.time_of, with_series=False).rate == 1.0
    assert tally.figures(200.0, HISTORY.time_of, with_series=False).rate == 0.0


def test_errors_are_those_of_five_minutes() -> None:
    tally = tally_of(Happened(10, 11, "error"), Happened(250, 251, "error"), Happened(252, 253))
    assert tally.figures(260.0, HISTORY.time_of, with_series=False).errors == 2
    assert tally.figures(400.0, HISTORY.time_of, with_series=False).errors == 1


@pytest.mark.parametrize("seconds", [0.00001, 0.0123, 1.0, 59.0])
def test_a_quantile_is_at_most_nine_percent_too_high(seconds: float) -> None:
    tally = tally_of(*[Happened(0, seconds)] * 10)
    found = tally.figures(60.0, HISTORY.time_of, with_series=False)
    assert seconds * 0.999 <= found.p50 == found.p95 <= seconds * 1.0906


def test_a_quantile_of_nothing_is_zero() -> None:
    figures = Tally().figures(0.0, HISTORY.time_of, with_series=True)
    assert (figures.p50, figures.p95, figures.last) == (0.0, 0.0, None)
    assert bin_of(0.0) == 0


def test_half_of_the_runs_do_not_exceed_the_median() -> None:
    tally = tally_of(*(Happened(0, 0.001) for _ in range(50)), *(Happened(0, 1.0) for _ in range(50)))
    found = tally.figures(60.0, HISTORY.time_of, with_series=False)
    assert found.p50 < 0.0011
    assert found.p95 >= 1.0


def test_what_is_older_than_five_minutes_is_forgotten() -> None:
    tally = tally_of(*(Happened(second, second + 0.5) for second in range(WINDOW * 3)))
    tally.figures(WINDOW * 3.0, HISTORY.time_of, with_series=False)
    assert len(tally._seconds) <= WINDOW + 2
    assert tally._bins.total() <= WINDOW + 2
    assert quantile(tally._bins, 0.5) > 0


def test_the_series_has_a_step_for_each_five_seconds() -> None:
    series = series_of(tally_of(Happened(290, 291), Happened(291, 292.5, "error"), Happened(296, 297)), 299.0)
    assert len(series.t) == len(series.rate) == len(series.queue) == 60
    assert series.t[-1] == HISTORY.time_of(300.0).timestamp()
    assert series.rate[-2:] == (0.4, 0.25)  # in four seconds so far
    assert series.errors[-2:] == (1, 0)
    assert series.latency[-2:] == (1.5, 1.0)


def test_the_queue_is_counted_at_the_end_of_each_step() -> None:
    tally = Tally()
    for name in "abc":
        tally.add(recorded(JOURNAL, Happened(292, 293), name, [(283.0, TextNote("test"))]))
    assert series_of(tally, 299.0).queue[-4:] == (3, 3, 0, 0)  # at 285 and at 290


def test_a_run_costs_few_lines() -> None:
    runs = [recorded(JOURNAL, Happened(number / 1000, number / 1000 + 0.002)) for number in range(1000)]
    tally = Tally()
    with counted_lines() as lines:
        for run in runs:
            tally.add(run)
    assert lines.count / 1000 <= 24
