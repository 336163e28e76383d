from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilotage.kubernetes import bootstrap
from pilotage.meta.documents import Document

from ..writes import strategy_of

ROWS = json.loads((Path(bootstrap.__file__).parent / "data" / "cluster.json").read_text())
STRATEGIES = {
    "FlowSchema": strategy_of("flowschemas.flowcontrol.apiserver.k8s.io"),
    "PriorityLevelConfiguration": strategy_of("prioritylevelconfigurations.flowcontrol.apiserver.k8s.io"),
}


def recorded(kind: str) -> list[Document]:
    return [row["object"] for row in ROWS if row["object"]["kind"] == kind]


@pytest.mark.parametrize("kind", STRATEGIES)
def test_those_that_come_with_a_server_are_valid(kind: str) -> None:
    assert len(recorded(kind)) > 5
    assert [list(STRATEGIES[kind].validate(document)) for document in recorded(kind)] == [[] for _ in recorded(kind)]


@pytest.mark.parametrize(
    ("kind", "name", "changes", "message"),
    [
        ("FlowSchema", "catch-all", {"matchingPrecedence": 5}, "spec of 'catch-all' must equal the fixed value"),
        ("FlowSchema", "exempt", {"rules": []}, "spec of 'exempt' must equal the fixed value"),
        (
            "PriorityLevelConfiguration",
            "catch-all",
            {"limited": {"limitResponse": {"type": "Reject"}}},
            "spec of 'catch-all' must equal the fixed value",
        ),
        ("PriorityLevelConfiguration", "exempt", {"exempt": {"nominalConcurrencyShares": 3}}, ""),
        (
            "PriorityLevelConfiguration",
            "exempt",
            {"limited": {}},
            "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value",
        ),
    ],
)
def test_the_mandatory_ones_keep_their_spec(kind: str, name: str, changes: Document, message: str) -> None:
    found = next(document for document in recorded(kind) if document["metadata"]["name"] == name)
    causes = STRATEGIES[kind].validate(found | {"spec": found["spec"] | changes})
    fixed = [cause.message for cause in causes if cause.field == "spec"]
    assert fixed == ([f"Invalid value: {message}"] if message else [])
