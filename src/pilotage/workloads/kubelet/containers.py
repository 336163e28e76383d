"""One container: pulled, created, started, ready, ended, started again. Its status is what is known of it."""

from __future__ import annotations

import hashlib
from datetime import datetime

from pilotage.types.core.v1 import (
    Container,
    ContainerState,
    ContainerStateRunning,
    ContainerStateTerminated,
    ContainerStateWaiting,
    ContainerStatus,
    Pod,
    PodSpec,
)
from pilotage.workloads.faults.behaviour import Behaviour
from pilotage.workloads.kubelet.conditions import restarts
from pilotage.workloads.kubelet.moment import Moment, is_expired, next_back_off

IMAGE_BYTES = 73_400_320
_BACK_OFF_AFTER = 1.0  # seconds between a failed pull and the status that reports the back-off
_RESTART_AFTER = 1.0  # seconds between the first end of a container and its restart


class Life:
    """The steps of one container, from its status at this moment. `path` is the path of its field, for Events."""

    def __init__(self, pod: Pod, container: Container, status: ContainerStatus, moment: Moment, path: str) -> None:
        self._pod = pod
        self._container = container
        self.status = status
        self._moment = moment
        self._path = path
        self._behaviour: Behaviour = moment.behaviour(container)

    @property
    def _is_plain_init(self) -> bool:
        """Whether it is an init container that ends before the containers start. It is ready when it has ended."""
        return self._path.startswith("spec.initContainers") and self._container.restart_policy != "Always"

    def advance(self, begin: datetime) -> None:
        """Take all steps that are due. `begin` is when a container that has not been started may be pulled."""
        for step in (self._wait, self._run, self._end):
            step(begin)

    def _wait(self, begin: datetime) -> None:
        waiting = self.status.state.waiting if self.status.state is not None else None
        if waiting is None:
            return
        if waiting.reason == "CrashLoopBackOff":
            self._wait_for_restart()
        elif waiting.reason in ("ErrImagePull", "ImagePullBackOff"):
            self._wait_for_image(waiting.reason)
        elif self._moment.is_due(begin, self._behaviour.mount_seconds):
            self._pull(begin)

    def _pull(self, begin: datetime) -> None:
        image, behaviour, moment = self._container.image or "", self._behaviour, self._moment
        if behaviour.pull_error:
            self._fail_pull()
        elif self._container.image_pull_policy != "Always" and image in moment.images:
            moment.record("Pulled", f'Container image "{image}" already present on machine', self._path)
            self._start()
        elif moment.is_due(begin, behaviour.mount_seconds + behaviour.pull_seconds):
            moment.record("Pulling", f'Pulling image "{image}"', self._path)
            took = f"{behaviour.pull_seconds:.3g}s ({behaviour.pull_seconds:.3g}s including waiting)"
            text = f'Successfully pulled image "{image}" in {took}. Image size: {IMAGE_BYTES} bytes.'
            moment.record("Pulled", text, self._path)
            moment.images.add(image)
            self._start()

    def _fail_pull(self) -> None:
        moment, image = self._moment, self._container.image or ""
        error = self._behaviour.pull_error
        moment.record("Pulling", f'Pulling image "{image}"', self._path)
        moment.record("Failed", f'Failed to pull image "{image}": {error}', self._path, warning=True)
        moment.record("Failed", "Error: ErrImagePull", self._path, warning=True)
        key = f"image {self._container.name}"
        moment.memory.back_offs[key] = next_back_off(moment.memory.back_offs.get(key), moment.now)
        self._set_waiting("ErrImagePull", error)
        moment.is_due(moment.now, _BACK_OFF_AFTER)

    def _wait_for_image(self, reason: str) -> None:
        moment, image = self._moment, self._container.image or ""
        back_off = moment.memory.back_offs.get(f"image {self._container.name}")
        if back_off is None or moment.is_due(back_off.since, back_off.seconds, is_progress=False):
            if self._behaviour.pull_error:
                self._fail_pull()
            else:
                self._pull(back_off.since if back_off is not None else moment.now)
        elif reason == "ErrImagePull" and moment.is_due(back_off.since, _BACK_OFF_AFTER):
            text = f'Back-off pulling image "{image}"'
            moment.record("BackOff", text, self._path)
            moment.record("Failed", "Error: ImagePullBackOff", self._path, warning=True)
            self._set_waiting("ImagePullBackOff", f"{text}: ErrImagePull: {self._behaviour.pull_error}")

    def _start(self) -> None:
        moment, status = self._moment, self.status
        moment.record("Created", "Container created", self._path)
        moment.record("Started", "Container started", self._path)
        digest = hashlib.sha256(f"{self._pod.metadata.uid}/{status.name}/{status.restart_count}".encode()).hexdigest()
        status.container_id = f"containerd://{digest}"
        status.image_id = image_id(status.image)
        status.state = ContainerState(running=ContainerStateRunning(started_at=moment.now))
        status.started = self._container.startup_probe is None
        status.ready = False

    def _run(self, begin: datetime) -> None:
        running = self.status.state.running if self.status.state is not None else None
        if running is None:
            return
        started, behaviour, moment = running.started_at or begin, self._behaviour, self._moment
        fails = behaviour.unhealthy_after if self._container.liveness_probe is not None else None
        if fails is not None and moment.is_due(started, fails, is_progress=False):
            self._kill_unhealthy()
            return
        if behaviour.run_seconds is not None:
            is_work = restarts(_spec(self._pod), self._container, behaviour.exit_code)
            if moment.is_due(started, behaviour.run_seconds, is_progress=not is_work):
                self.terminate(behaviour.exit_code, behaviour.exit_reason)
                return
        self._probe(started)

    def _probe(self, started: datetime) -> None:
        """Startup and readiness, by the delays of the probes and of the behaviour."""
        moment, behaviour, status = self._moment, self._behaviour, self.status
        startup, readiness = self._container.startup_probe, self._container.readiness_probe
        delay = float(startup.initial_delay_seconds or 0) if startup is not None else 0.0
        status.started = moment.is_due(started, delay)
        if readiness is not None:
            delay += float(readiness.initial_delay_seconds or 0)
        never = behaviour.ready_after is None or (
            behaviour.unready_after is not None and moment.is_due(started, behaviour.unready_after, is_progress=False)
        )
        ready = (
            status.started
            and not never
            and not self._is_plain_init
            and moment.is_due(started, delay + (behaviour.ready_after or 0.0))
        )
        if never and readiness is not None and (status.ready or behaviour.ready_after is None):
            moment.record("Unhealthy", f"Readiness probe failed: {probe_failure(readiness)}", self._path, warning=True)
        status.ready = ready

    def _kill_unhealthy(self) -> None:
        name, probe = self._container.name, self._container.liveness_probe
        text = f"Liveness probe failed: {probe_failure(probe)}"
        self._moment.record("Unhealthy", text, self._path, warning=True)
        self._moment.record("Killing", f"Container {name} failed liveness probe, will be restarted", self._path)
        self.terminate(137, "Error")

    def terminate(self, exit_code: int, reason: str = "") -> None:
        """The container ends now."""
        status = self.status
        running = status.state.running if status.state is not None else None
        status.state = ContainerState(
            terminated=ContainerStateTerminated(
                exit_code=exit_code,
                reason=reason or ("Completed" if exit_code == 0 else "Error"),
                started_at=running.started_at if running is not None else self._moment.now,
                finished_at=self._moment.now,
                container_id=status.container_id,
            )
        )
        status.ready = self._path.startswith("spec.initContainers") and exit_code == 0
        status.started = False

    def _end(self, begin: datetime) -> None:
        """After the end of a container: its restart, at once the first time, and later with a back-off."""
        ended = self.status.state.terminated if self.status.state is not None else None
        if ended is None or not restarts(_spec(self._pod), self._container, ended.exit_code):
            return
        if self._is_plain_init and ended.exit_code == 0:
            return
        moment, name = self._moment, self._container.name
        back_off = moment.memory.back_offs.get(name)
        finished = ended.finished_at or begin
        if not moment.is_due(finished, _RESTART_AFTER):
            return
        if back_off is None or is_expired(back_off, finished):
            moment.memory.back_offs[name] = next_back_off(back_off, moment.now)
            self._restart(ended)
            return
        pod = self._pod.metadata
        full = f"{pod.name}_{pod.namespace}({pod.uid})"
        moment.record("BackOff", f"Back-off restarting failed container {name} in pod {full}", self._path, warning=True)
        self.status.last_state = ContainerState(terminated=ended)
        text = f"back-off {_duration(back_off.seconds)} restarting failed container={name} pod={full}"
        self._set_waiting("CrashLoopBackOff", text)
        moment.is_due(finished, back_off.seconds, is_progress=False)

    def _wait_for_restart(self) -> None:
        moment, name = self._moment, self._container.name
        ended = self.status.last_state.terminated if self.status.last_state is not None else None
        back_off = moment.memory.back_offs.get(name)
        finished = (ended.finished_at if ended is not None else None) or moment.now
        if back_off is None or moment.is_due(finished, back_off.seconds, is_progress=False):
            moment.memory.back_offs[name] = next_back_off(back_off, moment.now)
            if ended is not None:
                self._restart(ended)

    def _restart(self, ended: ContainerStateTerminated) -> None:
        status, image = self.status, self._container.image or ""
        status.last_state = ContainerState(terminated=ended)
        status.restart_count += 1
        self._moment.record("Pulled", f'Container image "{image}" already present on machine', self._path)
        self._start()
        self._run(self._moment.now)

    def _set_waiting(self, reason: str, message: str) -> None:
        self.status.state = ContainerState(waiting=ContainerStateWaiting(reason=reason, message=message))
        self.status.ready, self.status.started = False, False


def start_delay(container: Container, moment: Moment) -> float:
    """The seconds from the admission of a Pod to the first change of its first container."""
    behaviour = moment.behaviour(container)
    is_there = container.image_pull_policy != "Always" and container.image in moment.images
    return behaviour.mount_seconds + (0.0 if behaviour.pull_error or is_there else behaviour.pull_seconds)


def waiting_status(container: Container, reason: str) -> ContainerStatus:
    """The status of a container that has not been started."""
    return ContainerStatus(
        name=container.name,
        image=container.image or "",
        image_id="",
        ready=False,
        restart_count=0,
        started=False,
        state=ContainerState(waiting=ContainerStateWaiting(reason=reason)),
    )


def image_id(image: str) -> str:
    """The id of an image: its name with a digest."""
    name = image.partition("@")[0]
    last = name.rpartition("/")[2]
    name = name[: len(name) - len(last)] + last.partition(":")[0]
    return f"{name}@sha256:{hashlib.sha256(image.encode()).hexdigest()}"


def probe_failure(probe: object) -> str:
    """What a failed probe reports, by its kind."""
    if getattr(probe, "http_get", None) is not None:
        return "HTTP probe failed with statuscode: 503"
    if getattr(probe, "tcp_socket", None) is not None:
        return "dial tcp: connect: connection refused"
    return "command failed" if getattr(probe, "exec", None) is not None else "service unhealthy"


def _duration(seconds: float) -> str:
    """As Go prints it."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _spec(pod: Pod) -> PodSpec:
    assert pod.spec is not None
    return pod.spec
