"""The life of a Pod, step by step, without a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import pilotage as pt
from pilotage.types.core.v1 import Container, HTTPGetAction, Pod, PodReadinessGate, PodSpec, Probe
from pilotage.workloads.faults.behaviour import DEFAULT, JOB, Behaviour
from pilotage.workloads.kubelet.life import next_step
from pilotage.workloads.kubelet.moment import Memory, Moment, PodEvent

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
PROBE = Probe(http_get=HTTPGetAction(port=80), initial_delay_seconds=5)


class Node:
    """A Pod on a node, whose time passes when a test says so."""

    def __init__(self, *containers: Container, init: tuple[Container, ...] = (), **spec: object) -> None:
        self.now = BEGIN
        meta = pt.ObjectMeta(name="web", namespace="shop", uid="u1", generation=1)
        self.pod = Pod(metadata=meta, spec=PodSpec(containers=[*containers], init_containers=[*init], **spec))  # type: ignore[arg-type]  # fields of the spec
        self.behaviours: dict[str, Behaviour] = {}
        self.images: set[str] = set()
        self.events: list[PodEvent] = []
        self.memory = Memory()
        self.seen: list[str] = []
        """What the status was after each look, as `Pending web=ContainerCreating`."""
        self.is_over = False
        self.next: datetime | None = BEGIN
        self.is_progress = True

    def pass_time(self, seconds: float) -> None:
        """Look whenever there is something to do, for this long."""
        end = self.now + timedelta(seconds=seconds)
        while self.next is not None and self.next <= end:
            self.now = max(self.now, self.next)
            self.look()
        self.now = end

    def look(self) -> None:
        behaviour: Callable[[Container], Behaviour] = lambda one: self.behaviours.get(one.name, DEFAULT)  # noqa: E731
        moment = Moment(self.now, behaviour, self.images, self.memory, lambda: "10.0.0.1", "172.0.0.1")
        self.is_over = next_step(self.pod, moment)
        self.events += moment.events
        self.next, self.is_progress = moment.next, moment.is_progress
        if not self.seen or self.seen[-1] != self.text:
            self.seen.append(self.text)

    def delete(self, grace: int = 30) -> None:
        self.pod.metadata.deletion_timestamp = self.now + timedelta(seconds=grace)
        self.pod.metadata.deletion_grace_period_seconds = grace
        self.look()

    @property
    def text(self) -> str:
        assert self.pod.status is not None
        return " ".join([self.pod.status.phase or "", *(f"{name}={self.state(name)}" for name in self.names)])

    @property
    def names(self) -> list[str]:
        assert self.pod.spec is not None
        return [one.name for one in (*self.pod.spec.init_containers, *self.pod.spec.containers)]

    def state(self, name: str) -> str:
        assert self.pod.status is not None
        statuses = (*self.pod.status.init_container_statuses, *self.pod.status.container_statuses)
        status = next(one for one in statuses if one.name == name)
        assert status.state is not None
        if status.state.waiting is not None:
            return status.state.waiting.reason or ""
        if status.state.terminated is not None:
            return f"{status.state.terminated.reason}({status.state.terminated.exit_code})"
        return "ready" if status.ready else "running"

    def condition(self, name: str) -> tuple[str, str, str]:
        assert self.pod.status is not None
        found = next(one for one in self.pod.status.conditions if one.type == name)
        return found.status, found.reason or "", found.message or ""

    @property
    def reasons(self) -> list[str]:
        return [event.reason for event in self.events]


def container(name: str = "web", **fields: object) -> Container:
    return Container(name=name, image=f"example.com/{name}:1", **fields)  # type: ignore[arg-type]  # fields of the container


def test_a_pod_is_created_pulled_and_ready() -> None:
    node = Node(container())
    node.pass_time(10)
    assert node.seen == ["Pending web=ContainerCreating", "Running web=ready"]
    assert node.reasons == ["Pulling", "Pulled", "Created", "Started"]
    assert node.next is None


def test_the_conditions_of_a_new_pod_name_the_containers_that_are_not_ready() -> None:
    node = Node(container())
    node.look()
    unready = ("False", "ContainersNotReady", "containers with unready status: [web]")
    assert node.condition("Ready") == node.condition("ContainersReady") == unready
    assert node.condition("Initialized") == ("True", "", "")
    assert node.condition("PodReadyToStartContainers") == ("False", "", "")


def test_conditions_that_do_not_change_keep_their_transition_time() -> None:
    node = Node(container())
    node.pass_time(10)
    assert node.pod.status is not None
    times = {one.type: one.last_transition_time for one in node.pod.status.conditions}
    assert times["Initialized"] == BEGIN
    assert times["Ready"] == BEGIN + timedelta(seconds=1)


def test_an_image_that_the_node_has_is_not_pulled() -> None:
    node = Node(container())
    node.images.add("example.com/web:1")
    node.pass_time(0.01)
    assert node.text == "Running web=ready"
    assert node.events[0].message == 'Container image "example.com/web:1" already present on machine'


def test_a_pull_policy_of_always_pulls_again() -> None:
    node = Node(container(image_pull_policy="Always"))
    node.images.add("example.com/web:1")
    node.pass_time(0.01)
    assert node.text == "Pending web=ContainerCreating"


def test_init_containers_run_one_after_the_other() -> None:
    node = Node(container(), init=(container("one"), container("two")))
    node.behaviours = {"one": JOB, "two": JOB}
    node.pass_time(20)
    assert node.seen == [
        "Pending one=PodInitializing two=PodInitializing web=PodInitializing",
        "Pending one=running two=PodInitializing web=PodInitializing",
        "Pending one=Completed(0) two=PodInitializing web=PodInitializing",
        "Pending one=Completed(0) two=running web=PodInitializing",
        "Pending one=Completed(0) two=Completed(0) web=PodInitializing",
        "Running one=Completed(0) two=Completed(0) web=ready",
    ]


def test_an_incomplete_init_container_is_named() -> None:
    node = Node(container(), init=(container("one"),))
    node.look()
    assert node.condition("Initialized") == (
        *("False", "ContainersNotInitialized", "containers with incomplete status: [one]"),
    )


def test_a_sidecar_runs_as_long_as_the_pod() -> None:
    node = Node(container(), init=(container("proxy", restart_policy="Always"),), restart_policy="Never")
    node.behaviours = {"web": replace(JOB, run_seconds=5)}
    node.pass_time(20)
    assert node.seen[-2:] == ["Running proxy=ready web=ready", "Succeeded proxy=Completed(0) web=Completed(0)"]
    assert node.is_over


def test_a_failed_init_container_fails_a_pod_that_is_never_restarted() -> None:
    node = Node(container(), init=(container("one"),), restart_policy="Never")
    node.behaviours = {"one": replace(JOB, exit_code=2)}
    node.pass_time(20)
    assert node.text == "Failed one=Error(2) web=PodInitializing"
    assert node.condition("Ready") == ("False", "PodFailed", "")


def test_a_failed_init_container_is_started_again() -> None:
    node = Node(container(), init=(container("one"),))
    node.behaviours = {"one": replace(JOB, exit_code=2)}
    node.pass_time(3.5)
    node.behaviours = {"one": JOB}
    node.pass_time(30)
    assert node.text == "Running one=Completed(0) web=ready"


@pytest.mark.parametrize(
    ("policy", "code", "phase"),
    [("Never", 0, "Succeeded"), ("Never", 3, "Failed"), ("OnFailure", 0, "Succeeded"), ("OnFailure", 3, "Running")],
)
def test_the_phase_after_the_end_follows_the_restart_policy(policy: str, code: int, phase: str) -> None:
    node = Node(container(), restart_policy=policy)
    node.behaviours = {"web": replace(JOB, exit_code=code)}
    node.pass_time(2.5)
    assert node.pod.status is not None
    assert node.pod.status.phase == phase


def test_a_crash_loop_backs_off_up_to_five_minutes() -> None:
    node = Node(container())
    node.behaviours = {"web": replace(DEFAULT, run_seconds=1, exit_code=1)}
    node.pass_time(3600)
    messages = [event.message for event in node.events if event.reason == "BackOff"]
    assert set(messages) == {"Back-off restarting failed container web in pod web_shop(u1)"}
    assert node.pod.status is not None
    status = node.pod.status.container_statuses[0]
    # At once, then after 10, 20, 40, 80, 160 and, from then on, 300 seconds.
    assert 15 <= status.restart_count <= 17
    assert status.state is not None
    assert status.state.waiting is not None
    assert status.state.waiting.message == "back-off 5m0s restarting failed container=web pod=web_shop(u1)"


def test_the_back_off_of_a_crash_loop_is_no_progress() -> None:
    node = Node(container())
    node.behaviours = {"web": replace(DEFAULT, run_seconds=1, exit_code=1)}
    node.pass_time(30)
    assert node.state("web") == "CrashLoopBackOff"
    assert not node.is_progress


def test_an_image_that_cannot_be_pulled_alternates_between_the_error_and_the_back_off() -> None:
    node = Node(container())
    node.behaviours = {"web": replace(DEFAULT, pull_error="not found")}
    node.pass_time(25)
    assert node.seen[:4] == [f"Pending web={state}" for state in _PULLS]
    assert node.events[1].message == 'Failed to pull image "example.com/web:1": not found'
    node.behaviours = {}
    node.pass_time(300)
    assert node.text == "Running web=ready"


_PULLS = ("ContainerCreating", "ErrImagePull", "ImagePullBackOff", "ErrImagePull")


def test_a_readiness_probe_delays_readiness() -> None:
    node = Node(container(readiness_probe=PROBE))
    node.pass_time(3)
    assert node.text == "Running web=running"
    node.pass_time(4)
    assert node.text == "Running web=ready"


def test_a_container_that_is_never_ready_runs() -> None:
    node = Node(container(readiness_probe=PROBE))
    node.behaviours = {"web": replace(DEFAULT, ready_after=None)}
    node.pass_time(100)
    assert node.text == "Running web=running"
    assert node.events[-1].message == "Readiness probe failed: HTTP probe failed with statuscode: 503"
    assert node.reasons.count("Unhealthy") == 1


def test_a_readiness_probe_that_begins_to_fail_ends_readiness() -> None:
    node = Node(container(readiness_probe=PROBE))
    node.behaviours = {"web": replace(DEFAULT, unready_after=60)}
    node.pass_time(30)
    assert node.state("web") == "ready"
    node.pass_time(40)
    assert node.state("web") == "running"


def test_a_failed_liveness_probe_restarts_the_container() -> None:
    node = Node(container(liveness_probe=PROBE))
    node.behaviours = {"web": replace(DEFAULT, unhealthy_after=30)}
    node.pass_time(35)
    assert "Killing" in node.reasons
    assert node.pod.status is not None
    assert node.pod.status.container_statuses[0].restart_count == 1


def test_a_readiness_gate_without_its_condition_is_named() -> None:
    node = Node(container(), readiness_gates=[PodReadinessGate(condition_type="example.com/ok")])
    node.pass_time(10)
    message = 'corresponding condition of pod readiness gate "example.com/ok" does not exist.'
    assert node.condition("Ready") == ("False", "ReadinessGatesNotReady", message)
    assert node.condition("ContainersReady") == ("True", "", "")


def test_a_deleted_pod_stops_within_its_grace_period() -> None:
    node = Node(container())
    node.pass_time(10)
    node.delete()
    assert node.text == "Running web=ready"
    node.pass_time(2)
    assert node.text == "Failed web=Error(143)"
    assert node.is_over
    assert node.reasons.count("Killing") == 1


def test_a_container_that_stops_slowly_is_killed_at_the_end_of_the_grace_period() -> None:
    node = Node(container())
    node.behaviours = {"web": replace(DEFAULT, stop_seconds=600)}
    node.pass_time(10)
    node.delete(grace=5)
    node.pass_time(4)
    assert node.text == "Running web=ready"
    node.pass_time(2)
    assert node.text == "Failed web=Error(137)"


def test_a_pod_that_is_deleted_before_it_starts_is_gone_at_once() -> None:
    node = Node(container())
    node.look()
    node.delete()
    assert node.is_over


def test_a_pod_with_a_deadline_fails() -> None:
    node = Node(container(), active_deadline_seconds=30)
    node.pass_time(40)
    assert node.pod.status is not None
    assert (node.pod.status.phase, node.pod.status.reason) == ("Failed", "DeadlineExceeded")


def test_containers_are_pulled_one_after_the_other_and_a_failed_pull_does_not_stop_the_next() -> None:
    node = Node(container("one"), container("two"))
    node.behaviours = {"one": replace(DEFAULT, pull_error="not found")}
    node.pass_time(5)
    assert node.text == "Pending one=ImagePullBackOff two=ready"
