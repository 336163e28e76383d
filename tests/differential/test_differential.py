"""The differential fuzzer: its sequences come from a seed, and what it reports is small."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from hack.cluster.running import RealCluster

from ..server.differential import Step
from ..server.test_differential import DOCUMENTATION
from .fuzzing import Fuzzer, masked
from .generator import Batch
from .known import ACCEPTED, DEPENDENT_CAUSES, KNOWN, SCALES, unknown
from .shrinking import shrunk

SEED = 11
SEQUENCES = 30
"""A few seconds; `make differential` goes on from there."""


@pytest.mark.cluster
async def test_random_sequences_are_answered_as_by_the_real_server(real_control_plane: RealCluster) -> None:
    reports: list[str] = []
    fuzzer = Fuzzer(real_control_plane, reports.append)
    await fuzzer.batch(Batch(SEED, 0), more=lambda: fuzzer.sequences < SEQUENCES)
    assert fuzzer.sequences >= SEQUENCES
    assert not reports, "\n\n".join(reports)


def test_a_seed_makes_the_same_sequences() -> None:
    one, other = Batch(7, 0), Batch(7, 0)
    assert [each.definition for each in one.kinds] == [each.definition for each in other.kinds]
    assert [one.sequence(number) for number in range(30)] == [other.sequence(number) for number in range(30)]


def test_sequences_have_all_sorts_of_requests() -> None:
    steps = [step for number in range(60) for step in Batch(7, 0).sequence(number).steps]
    assert {step.method for step in steps} == {"GET", "POST", "PUT", "PATCH", "DELETE"}
    assert len({step.content_type for step in steps}) == 5
    assert {step.target.rpartition("/")[2].partition("?")[0] for step in steps} >= {"one", "two", "status", "scale"}
    queries = "&".join(step.target.partition("?")[2] for step in steps)
    options = ("continue", "dryRun", "fieldSelector", "force", "resourceVersionMatch", "sendInitialEvents", "watch")
    assert [name for name in options if f"{name}=" not in queries] == []
    accepted = {step.accept.partition(";v=")[0] for step in steps}
    assert accepted >= {
        "",
        "application/yaml",
        "application/json;as=Table",
        "application/json;as=PartialObjectMetadata",
    }


def test_definitions_have_all_sorts_of_parts() -> None:
    made = json.dumps([subject.definition for number in range(20) for subject in Batch(7, number).kinds])
    parts = ("additionalPrinterColumns", "default", "nullable", "scale", "selectableFields", "x-kubernetes-list-type")
    extensions = ("int-or-string", "preserve-unknown-fields", "map-type", "validations")
    wanted = [*parts, *(f"x-kubernetes-{name}" for name in extensions), "v2"]
    assert [name for name in wanted if f'"{name}"' not in made] == []


async def test_a_sequence_shrinks_to_the_steps_and_fields_that_matter() -> None:
    async def shows(steps: Sequence[Step]) -> bool:
        return steps[-1].what == "last" and any(isinstance(each.body, dict) and "b" in each.body for each in steps)

    bodies: list[Any] = [{"a": 1}, {"a": 1, "b": {"c": 2}}, [1], None]
    steps = [Step(name, "POST", "/", body) for name, body in zip(("1", "2", "3", "last"), bodies, strict=True)]
    assert await shrunk(steps, shows) == [Step("2", "POST", "/", {"b": {}}), Step("last", "POST", "/")]


def test_ages_and_what_servers_allocate_is_not_compared() -> None:
    real = {"kind": "Service", "spec": {"clusterIP": "10.0.0.7", "ports": [{"port": 80, "nodePort": 30001}]}}
    ours = {"kind": "Service", "spec": {"clusterIP": "10.0.0.9", "ports": [{"port": 80, "nodePort": 32000}]}}
    assert masked(real) == masked(ours)
    assert masked({"rows": [{"cells": ["one", "3s"]}]}) == masked({"rows": [{"cells": ["one", "4s"]}]})


def test_a_message_that_differs_is_a_difference_unless_a_row_lists_it() -> None:
    real = {"status": 400, "body": {"message": "json: cannot unmarshal number into Go struct field"}}
    assert not unknown(real, {"status": 400, "body": {"message": "a number where text belongs"}})
    assert unknown(real, {"status": 422, "body": {"message": "a number where text belongs"}}) == [(".status", 400, 422)]
    assert unknown({"body": {"message": "not found"}}, {"body": {"message": "missing"}})


def test_every_known_difference_has_a_row_in_the_documentation() -> None:
    rows = {line.split("|")[1].strip() for line in DOCUMENTATION.read_text().splitlines() if line.startswith("| ")}
    assert {*(known.row for known in (*KNOWN, *ACCEPTED)), DEPENDENT_CAUSES, SCALES} <= rows
