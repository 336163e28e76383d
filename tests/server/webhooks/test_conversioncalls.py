"""How often the conversion webhook is called: by ours as often as by a real kube-apiserver, or more rarely."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hack.cluster.running import RealCluster
from pilotage.meta.documents import Document
from tests.server.differential import APPLY, MERGE, Saved, Step, get, patch, post, put

from . import conversions
from .comparison import Case, run_on_ours, run_on_real

NAME = "calls"
GROUP = f"hooks-{NAME}.example.com"
V1, V2 = (f"/apis/{GROUP}/{version}/namespaces/<namespace>/widgets" for version in ("v1", "v2"))
TIMES = 5


def _apply(length: int) -> Step:
    document = {
        "apiVersion": f"{GROUP}/v2",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": {"length": length, "color": "red"},
    }
    return patch(f"apply {length}", f"{V2}/a?fieldManager=me&force=true", document, APPLY)


def _widget(version: str, name: str, spec: Document) -> Document:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Widget", "metadata": {"name": name}, "spec": spec}


APPLIES = [_apply(length) for length in range(TIMES)]
UPDATES = [
    post("b", V1, _widget("v1", "b", {"size": 1})),
    get("get", f"{V2}/b", save="b"),
    put("update", f"{V2}/b", Saved("b", {"spec.length": 5})),
    *(patch(f"patch {number}", f"{V2}/b", {"spec": {"length": number}}, MERGE) for number in range(10, 10 + TIMES)),
]


def _counted(*steps: Step) -> tuple[Case, Callable[[], int]]:
    """A case, and the number of calls of its conversion webhook."""
    calls: list[Document] = []

    def convert(review: Document) -> Document:
        calls.append(review)
        return conversions.converted(review)

    definitions = [conversions.definition(NAME)]
    return Case(NAME, steps, definitions=definitions, behaviours={"/c": convert}), lambda: len(calls)


@pytest.mark.virtual_time
async def test_an_apply_at_another_version_is_three_calls() -> None:
    case, calls = _counted(*APPLIES)
    assert [answer["status"] for answer in await run_on_ours(case)] == [201, *[200] * (TIMES - 1)]
    assert calls() == 2 + 3 * (TIMES - 1)  # a create reads nothing


@pytest.mark.cluster
async def test_a_real_server_calls_the_webhook_at_least_as_often(real_control_plane: RealCluster) -> None:
    """Three calls for a write, and one for its watch cache, which are not distinguished here."""
    ours, our_calls = _counted(*APPLIES, *UPDATES)
    real, real_calls = _counted(*APPLIES, *UPDATES)
    await run_on_ours(ours)
    statuses = [answer["status"] for answer in await run_on_real(real, real_control_plane)]
    assert max(statuses) < 300, statuses
    writes = len(APPLIES) + len(UPDATES) - 3  # all but the two creates and the read
    assert real_calls() >= our_calls() >= 3 * writes
