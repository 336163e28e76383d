from __future__ import annotations

import json
from pathlib import Path

from pilotage.server.http import discovery
from pilotage.types import builtin

UNSERVED = {"componentstatuses"}
RECORDED = Path(__file__).parents[3] / "hack" / "kubernetes" / "discovery.json"


def test_the_built_in_resources_are_discovered_as_on_a_kube_apiserver() -> None:
    expected = json.loads(RECORDED.read_bytes())["items"]
    core = expected[0]["versions"][0]
    core["resources"] = [each for each in core["resources"] if each["resource"] not in UNSERVED]
    mappings = builtin.resources()
    found = [item for core in (True, False) for item in discovery.aggregated(mappings, core=core)["items"]]
    assert found == expected


def test_the_hash_of_a_stored_version_is_that_of_a_kube_apiserver() -> None:
    mappings = builtin.resources()
    by_version = {mapping.resource.group_version for mapping in mappings}
    (v1,) = (one for one in by_version if str(one) == "autoscaling/v1")
    found = discovery.resources(mappings, v1)
    assert found is not None
    assert found["resources"][0]["storageVersionHash"] == "qwQve8ut294="
