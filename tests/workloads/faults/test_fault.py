"""Faults as text, and what they do."""

from __future__ import annotations

import pytest

import pilotage as pt
from pilotage.errors import InvalidDefinition
from pilotage.types.core.v1 import Container, Pod, PodSpec
from pilotage.workloads import WorkloadOptions
from pilotage.workloads.faults.behaviour import DEFAULT, JOB
from pilotage.workloads.faults.fault import EFFECTS, Fault, parse
from pilotage.workloads.faults.faults import Faults

WEB = Container(name="web", image="web:1")


def pod(**spec: object) -> Pod:
    meta = pt.ObjectMeta(name="a", namespace="default", uid="u", labels={"app": "shop"})
    return Pod(metadata=meta, spec=PodSpec(containers=[WEB], **spec))  # type: ignore[arg-type]  # fields of the spec


def test_a_fault_is_read_from_text() -> None:
    text = "crash-loop exit-code=3 after=10s container=web labels=app=shop,tier=front"
    assert parse(text) == Fault(
        "crash-loop", exit_code=3, after=10.0, container="web", labels={"app": "shop", "tier": "front"}
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("crash", "there is no fault 'crash'; there are: image-pull"),
        ("exit code=3", "there is no parameter 'code'; there are: image, container, pod"),
        ("exit exit-code=300", "an exit code is between 0 and 255"),
        ("exit exit-code=x", "an exit code is a number between 0 and 255"),
        ("exit after=soon", "soon"),
        ('exit pod="a', "No closing quotation"),
    ],
)
def test_a_fault_that_cannot_be_read_says_why(text: str, message: str) -> None:
    with pytest.raises(InvalidDefinition, match=message):
        parse(text)


@pytest.mark.parametrize("name", EFFECTS)
def test_each_fault_changes_the_behaviour(name: str) -> None:
    assert Fault(name).effect_on(DEFAULT, 0) != DEFAULT


def test_an_exit_happens_once_and_a_crash_loop_again() -> None:
    assert Fault("exit").effect_on(DEFAULT, 1) == DEFAULT
    assert Fault("crash-loop").effect_on(DEFAULT, 1) != DEFAULT


@pytest.mark.parametrize(
    ("fault", "affected"),
    [
        (Fault("exit"), True),
        (Fault("exit", labels={"app": "shop"}, container="web", image="web:1"), True),
        (Fault("exit", labels={"app": "other"}), False),
        (Fault("exit", container="proxy"), False),
        (Fault("exit", image="web:2"), False),
        (Fault("exit", namespace="kube-system"), False),
        (Fault("exit", pod="b"), False),
    ],
)
def test_each_given_field_selects(fault: Fault, affected: bool) -> None:
    assert fault.affects(pod(), WEB) is affected


@pytest.mark.parametrize(("policy", "behaviour"), [("Always", DEFAULT), ("OnFailure", JOB), ("Never", JOB)])
def test_containers_that_are_not_always_restarted_do_their_work_and_end(policy: str, behaviour: object) -> None:
    faults = Faults(WorkloadOptions(jitter_seconds=0))
    assert faults.behaviour_of(pod(restart_policy=policy), WEB, 0) == behaviour


def test_annotations_say_how_long_a_container_runs_and_how_it_ends() -> None:
    given = pod(restart_policy="Never")
    given.metadata.annotations = {
        "workloads.pilotage.dev/run-seconds": "90",
        "workloads.pilotage.dev/exit-code": "4",
    }
    behaviour = Faults(WorkloadOptions()).behaviour_of(given, WEB, 0)
    assert (behaviour.run_seconds, behaviour.exit_code) == (90, 4)


def test_the_jitter_follows_the_seed() -> None:
    def delays(seed: int) -> list[float]:
        faults = Faults(WorkloadOptions(seed=seed))
        pods = [pod() for _ in range(20)]
        for number, each in enumerate(pods):
            each.metadata.uid = str(number)
        return [faults.behaviour_of(each, WEB, 0).pull_seconds for each in pods]

    assert delays(1) == delays(1)
    assert delays(1) != delays(2)
    assert all(1.0 <= each <= 1.5 for each in delays(1))
