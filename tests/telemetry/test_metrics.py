from __future__ import annotations

import threading

import pytest

from pilotage.telemetry.metrics import Registry, number
from tests.counting import counted_lines


def test_metrics_are_printed_in_prometheus_text() -> None:
    registry = Registry()
    registry.counter("runs_total", "Runs by result.\nSecond \\ line.", ("result",)).labels("ok").inc(2)
    registry.gauge("depth", "How deep.").labels().set(1.5)
    histogram = registry.histogram("seconds", "How long.", buckets=(0.1, 1)).labels()
    for value in (0.1, 0.5, 3):
        histogram.observe(value)
    assert registry.render() == (
        "# HELP depth How deep.\n# TYPE depth gauge\ndepth 1.5\n"
        "# HELP runs_total Runs by result.\\nSecond \\\\ line.\n# TYPE runs_total counter\n"
        'runs_total{result="ok"} 2\n'
        "# HELP seconds How long.\n# TYPE seconds histogram\n"
        'seconds_bucket{le="0.1"} 1\nseconds_bucket{le="1"} 2\nseconds_bucket{le="+Inf"} 3\n'
        "seconds_sum 3.6\nseconds_count 3\n"
    )


def test_label_values_are_escaped() -> None:
    registry = Registry()
    registry.counter("a_total", "", ("x",)).labels('q"\\\n\ud800').inc()
    assert 'a_total{x="q\\"\\\\\\n?"} 1\n' in registry.render()


def test_a_metric_without_labels_is_there_before_anything_happens() -> None:
    registry = Registry()
    registry.counter("a_total", "")
    assert "\na_total 0\n" in registry.render()


def test_counters_only_grow() -> None:
    counter = Registry().counter("a_total", "").labels()
    counter.inc()
    for step in (-1, float("nan")):
        with pytest.raises(ValueError, match="cannot decrease"):
            counter.inc(step)
    assert counter.value == 1


def test_gauges_go_up_and_down_or_are_asked() -> None:
    gauge = Registry().gauge("a", "").labels()
    gauge.set(5)
    gauge.inc()
    gauge.dec(2)
    assert gauge.value == 4
    gauge.set_function(lambda: 7)
    assert gauge.value == 7


def test_children_are_kept_and_forgotten_by_their_values() -> None:
    registry = Registry()
    metric = registry.counter("a_total", "", ("x", "y"))
    assert metric.labels("1", "2") is metric.labels("1", "2")
    metric.remove("1", "2")
    metric.remove("1", "2")
    assert "a_total{" not in registry.render()
    with pytest.raises(ValueError, match="has the labels x, y"):
        metric.labels("1")


def test_label_sets_are_capped() -> None:
    registry = Registry()
    metric = registry.counter("a_total", "", ("x",), max_label_sets=2)
    for name in "abcdeab":
        metric.labels(name).inc()
    assert [(sample.labels[0][1], sample.value) for sample in metric.samples()] == [("a", 2), ("b", 2), ("other", 3)]


def test_asking_again_gives_the_same_metric() -> None:
    registry = Registry()
    assert registry.counter("a_total", "", ("x",)) is registry.counter("a_total", "", ("x",))
    with pytest.raises(ValueError, match="with another definition"):
        registry.gauge("a_total", "", ("x",))


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "é"])
def test_names_are_prometheus_names(name: str) -> None:
    with pytest.raises(ValueError, match="not the name of a metric"):
        Registry().counter(name, "")


@pytest.mark.parametrize("label", ["", "__a", "a:b", "a-b"])
def test_labels_are_prometheus_labels(label: str) -> None:
    with pytest.raises(ValueError, match="not the name of a label"):
        Registry().counter("a", "", (label,))


def test_buckets_rise() -> None:
    with pytest.raises(ValueError, match="must be increasing"):
        Registry().histogram("a", "", buckets=(1, 1))
    with pytest.raises(ValueError, match="'le' is not the name of a label"):
        Registry().histogram("a", "", ("le",))


def test_histograms_count_and_sum() -> None:
    histogram = Registry().histogram("a", "").labels()
    histogram.observe(1)
    histogram.observe(2)
    assert (histogram.count, histogram.sum) == (2, 3)


def test_threads_lose_no_count() -> None:
    counter = Registry().counter("a_total", "").labels()

    def count() -> None:
        for _ in range(5000):
            counter.inc()

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 20_000


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (0.1, "0.1"), (1e21, "1e+21"), (float("inf"), "+Inf"), (float("-inf"), "-Inf"), (float("nan"), "NaN")],
)
def test_numbers_are_written_as_prometheus_reads_them(value: float, text: str) -> None:
    assert number(value) == text


def test_counting_takes_a_few_lines() -> None:
    metric = Registry().counter("a_total", "", ("x",))
    metric.labels("a").inc()
    with counted_lines() as lines:
        for _ in range(100):
            metric.labels("a").inc()
    assert lines.count <= 100 * 10
