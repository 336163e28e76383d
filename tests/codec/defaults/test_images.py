from __future__ import annotations

import pytest

from pilotage.codec.defaults.images import pull_policy

DIGEST = "@sha256:" + "a" * 64


@pytest.mark.parametrize(
    "reference",
    ["nginx", "nginx:latest", "registry:5000/a/b", "localhost/a", "Registry.example/a:latest", f"a:latest{DIGEST}"],
)
def test_what_may_change_under_its_name_is_always_pulled(reference: str) -> None:
    assert pull_policy(reference) == "Always"


@pytest.mark.parametrize(
    "reference",
    ["nginx:1", f"nginx{DIGEST}", "registry:5000/a:v1", "", "UPPER", "a b", ":latest", "a@sha256:12", "f" * 64],
)
def test_other_references_are_pulled_once(reference: str) -> None:
    assert pull_policy(reference) == "IfNotPresent"


@pytest.mark.parametrize("part", ["a.", "a-", "a/", "a:", "a__", "-", "["])
def test_a_long_reference_takes_little_time(part: str) -> None:
    assert pull_policy(part * 100_000) == "IfNotPresent"
    assert pull_policy((part * 4096)[:4096]) == "IfNotPresent"
