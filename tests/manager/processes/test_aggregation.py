"""The metrics of several processes as one."""

from __future__ import annotations

from pilotage.manager.processes.aggregation import aggregate, decode, encode
from pilotage.telemetry.metrics import Registry


def registry(done: int, depth: float, *seconds: float) -> Registry:
    made = Registry()
    made.counter("done_total", "What is done.", ("controller",)).labels("a").inc(done)
    made.gauge("depth", "What waits.").labels().set(depth)
    histogram = made.histogram("seconds", "How long.", buckets=(1, 5)).labels()
    for value in seconds:
        histogram.observe(value)
    return made


def test_counters_and_histograms_are_added_up_and_gauges_are_kept_apart() -> None:
    processes = {"1": registry(2, 7, 0.5, 3), "2": registry(3, 1, 9)}
    processes["2"].counter("only_here_total", "In one process only.").labels().inc()
    text = aggregate({name: decode(encode(one)) for name, one in processes.items()})
    assert text.splitlines() == [
        "# HELP depth What waits.",
        "# TYPE depth gauge",
        'depth{process="1"} 7',
        'depth{process="2"} 1',
        "# HELP done_total What is done.",
        "# TYPE done_total counter",
        'done_total{controller="a"} 5',
        "# HELP only_here_total In one process only.",
        "# TYPE only_here_total counter",
        "only_here_total 1",
        "# HELP seconds How long.",
        "# TYPE seconds histogram",
        'seconds_bucket{le="1"} 1',
        'seconds_bucket{le="5"} 2',
        'seconds_bucket{le="+Inf"} 3',
        "seconds_sum 12.5",
        "seconds_count 3",
    ]
