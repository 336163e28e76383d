"""`pilotage manifests --grafana`: the dashboard and the alerts read metrics that a program serves."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path

import yaml

import pilotage as pt
import pilotage.client.transport.metrics  # registers the metrics of a connection to a real server
from pilotage.cli.manifests import monitoring
from pilotage.errors import StaleCache
from pilotage.http.client import HTTPClient
from pilotage.types.core.v1 import ConfigMap
from tests import forked
from tests.cli.run.greetings import write_operator

_METRIC = re.compile(r"\b([a-z][a-z0-9_]*_[a-z0-9_]+)\b(?=[\[)} ]|$)")


def expressions() -> list[str]:
    panels = [expression for panel in monitoring.PANELS for expression, _ in panel.queries]
    return [*panels, *(alert.expression for alert in monitoring.ALERTS)]


def metrics_in(expression: str) -> set[str]:
    """The metrics of an expression: its names with an underscore, without functions and labels."""
    return {name for name in _METRIC.findall(expression) if name not in ("histogram_quantile", "__rate_interval")}


async def served() -> str:
    """The metrics of a program that elects a leader, has failed, and has read an old cache."""
    options = pt.ManagerOptions(
        metrics_bind_address="127.0.0.1:0", handle_signals=False, leader_election=True, leader_election_id="l"
    )
    async with pt.Manager(pt.Cluster.embedded("memory:"), options) as manager:

        async def fails(request: pt.Request) -> None:
            raise StaleCache("late", resource="configmaps")

        pt.ControllerBuilder(manager).for_(ConfigMap).complete(fails)
        await manager.cluster.client.create(ConfigMap(metadata=pt.ObjectMeta(name="a", namespace="default")))
        with suppress(pt.NotIdle):
            await manager.run_until_idle(timeout=1)
        async with HTTPClient(*manager.metrics_address) as client:
            return (await client.request("GET", "/metrics")).body.decode()


async def test_every_query_reads_a_metric_that_is_served_with_the_labels_that_it_groups_by() -> None:
    text = await served()
    for expression in expressions():
        for name in metrics_in(expression):
            definition = name.removesuffix("_bucket")
            assert f"# TYPE {definition} " in text, f"{definition}, in {expression}"
        for labels in re.findall(r"by \(([\w, ]+)\)", expression):
            (name,) = metrics_in(expression.split(f"by ({labels})")[1]) or metrics_in(expression)
            lines = [line for line in text.splitlines() if line.startswith(f"{name}{{")]
            for label in labels.split(", "):
                assert not lines or any(f'{label}="' in line for line in lines), f"{label} of {name}"


def test_the_files_are_written_to_the_folder_of_the_output(tmp_path: Path) -> None:
    write_operator(tmp_path)
    words = ("manifests", "hello.py", "--grafana", "--output", "monitoring")
    ran = forked.run("-m", "pilotage.cli", *words, folder=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["monitoring/dashboard.json", "monitoring/alerts.yaml"]
    dashboard = json.loads((tmp_path / "monitoring/dashboard.json").read_text())
    assert dashboard["title"] == "hello"
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
    assert len({*places}) == len(places) == len(monitoring.PANELS)
    rules = yaml.safe_load((tmp_path / "monitoring/alerts.yaml").read_text())
    assert rules["kind"] == "PrometheusRule"


def test_without_a_folder_they_are_objects_that_kubectl_applies(tmp_path: Path) -> None:
    write_operator(tmp_path)
    ran = forked.run("-m", "pilotage.cli", "manifests", "hello.py", "--grafana", folder=tmp_path)
    config, rules = yaml.safe_load_all(ran.stdout)
    assert config["metadata"]["labels"] == {"grafana_dashboard": "1"}
    assert json.loads(config["data"]["hello.json"])["panels"]
    assert (rules["kind"], rules["metadata"]["namespace"]) == ("PrometheusRule", config["metadata"]["namespace"])
