from __future__ import annotations

import pytest

from pilotage.server.strategies.strategy import Strategy

from ..writes import strategy_of


@pytest.mark.parametrize(
    "strategy",
    [
        strategy_of("flowschemas.flowcontrol.apiserver.k8s.io"),
        strategy_of("prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"),
    ],
)
def test_conditions_without_a_type_are_required_to_have_one_and_count_as_equal(strategy: Strategy) -> None:
    document = {"metadata": {"name": "one"}, "status": {"conditions": [{"status": "True"}, {}]}}
    causes = [f"{cause.field}: {cause.message}" for cause in strategy.validate_status_update(document, document)]
    assert causes == [
        "status.conditions[0].type: Required value",
        "status.conditions[1].type: Required value",
        'status.conditions[1].type: Duplicate value: ""',
    ]
