"""A fault: its name, the containers that it affects, and what it does to their behaviour."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import MappingProxyType

from pilotage.errors import InvalidDefinition
from pilotage.meta.bounds.amounts import Seconds, seconds
from pilotage.meta.scalars.times import Duration
from pilotage.types.core.v1 import Container, Pod
from pilotage.workloads.faults.behaviour import Behaviour

ANNOTATION = "workloads.pilotage.dev/fault"
"""The fault of a Pod, in the form of `parse`."""
_LONGEST = 1000
"""The most characters of a fault as text: it is parsed each time that its Pod is looked at."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault of containers: of all, or of those that each given field selects.

    The names: `image-pull` (the image cannot be pulled), `crash-loop` (it ends `after` its start, with `exit_code`, and
    again after each restart), `oom-kill` (the same, killed for its memory), `exit` (it ends once, with `exit_code`),
    `never-ready`, `unready` (its readiness probe fails from `after` on), `unhealthy` (its liveness probe fails `after`
    its start), `slow-volume` (its volumes take `after` to be made and to be mounted), `slow-image` (its image takes
    `after` to pull), `slow-stop` (it takes `after` to stop).
    """

    name: str
    image: str = ""
    container: str = ""
    pod: str = ""
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels of the Pod."""
    after: Seconds | None = None
    """Seconds; the default depends on the fault."""
    exit_code: int = 1
    message: str = ""
    """Of the failed pull."""

    def __post_init__(self) -> None:
        if self.name not in EFFECTS:
            raise InvalidDefinition(f"there is no fault {self.name!r}; there are: {', '.join(EFFECTS)}")
        if self.after is not None:
            object.__setattr__(self, "after", seconds(self.after, "after"))
        if not 0 <= self.exit_code <= 255:
            raise InvalidDefinition(f"exit_code={self.exit_code}: an exit code is between 0 and 255")

    def affects(self, pod: Pod, container: Container) -> bool:
        """Whether it selects a container of a Pod."""
        meta = pod.metadata
        return (
            self.image in ("", container.image)
            and self.container in ("", container.name)
            and self.pod in ("", meta.name)
            and self.namespace in ("", meta.namespace)
            and all(meta.labels.get(name) == value for name, value in self.labels.items())
        )

    def effect_on(self, behaviour: Behaviour, restarts: int) -> Behaviour:
        """The behaviour of a container with this fault, after a number of restarts."""
        return EFFECTS[self.name](self, behaviour, restarts)

    def delay(self, default: Seconds) -> float:
        """The seconds of `after`, or the default of this fault."""
        return seconds(default if self.after is None else self.after, "after")


def parse(text: str) -> Fault:
    """A fault as text: its name, and fields as `crash-loop exit-code=3 after=10s container=web labels=app=shop`."""
    if len(text) > _LONGEST:
        raise InvalidDefinition(f"a fault of {len(text)} characters: it has at most {_LONGEST}")
    try:
        name, *parameters = shlex.split(text) or [""]
    except ValueError as error:
        raise InvalidDefinition(f"fault {text!r}: {error}") from None
    if not name:
        raise InvalidDefinition(f"fault {text!r}: it is empty; there are: {', '.join(EFFECTS)}")
    known = {one.name.replace("_", "-"): one.name for one in fields(Fault) if one.name != "name"}
    given: dict[str, object] = {}
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        if key not in known:
            raise InvalidDefinition(f"fault {text!r}: there is no parameter {key!r}; there are: {', '.join(known)}")
        given[known[key]] = _VALUES.get(key, str)(value)
    return Fault(name, **given)  # type: ignore[arg-type]  # each value is converted by its key


def _labels(text: str) -> dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in text.split(","))


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        pass
    try:
        return Duration.parse(text).total_seconds()
    except ValueError as error:
        raise InvalidDefinition(f"after={text}: {error}") from None


def _exit_code(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 3):
        raise InvalidDefinition(f"exit-code={text}: an exit code is a number between 0 and 255")
    return int(text)


_VALUES: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {"after": _seconds, "exit-code": _exit_code, "labels": _labels}
)


def _image_pull(fault: Fault, behaviour: Behaviour, restarts: int) -> Behaviour:
    image = fault.image or "the image"
    reason = fault.message or f"failed to pull and unpack image: failed to resolve reference: {image}: not found"
    return replace(behaviour, pull_error=f"rpc error: code = NotFound desc = {reason}")


def _crash_loop(fault: Fault, behaviour: Behaviour, restarts: int) -> Behaviour:
    return replace(behaviour, run_seconds=fault.delay(1.0), exit_code=fault.exit_code)


def _oom_kill(fault: Fault, behaviour: Behaviour, restarts: int) -> Behaviour:
    return replace(behaviour, run_seconds=fault.delay(1.0), exit_code=137, exit_reason="OOMKilled")


def _exit(fault: Fault, behaviour: Behaviour, restarts: int) -> Behaviour:
    return _crash_loop(fault, behaviour, restarts) if not restarts else behaviour


def _never_ready(fault: Fault, behaviour: Behaviour, restarts: int) -> Behaviour:
    return replace(behaviour, ready_after=None)


def _unready(fault: Fault, behaviour: Behaviour, restarts: int) -> Behaviour:
    return replace(behaviour, unready_after=fault.delay(0.0))


def _unhealthy(fault: Fault, behaviour: Behaviour, restarts: int) -> Behaviour:
    return replace(behaviour, unhealthy_after=fault.delay(30.0))


def _slow_volume(fault: Fault, behaviour: Behaviour, restarts: int) -> Behaviour:
    return replace(behaviour, mount_seconds=fault.delay(120.0))


def _slow_image(fault: Fault, behaviour: Behaviour, restarts: int) -> Behaviour:
    return replace(behaviour, pull_seconds=fault.delay(120.0))


def _slow_stop(fault: Fault, behaviour: Behaviour, restarts: int) -> Behaviour:
    return replace(behaviour, stop_seconds=fault.delay(600.0))


EFFECTS: Mapping[str, Callable[[Fault, Behaviour, int], Behaviour]] = MappingProxyType(
    {
        "image-pull": _image_pull,
        "crash-loop": _crash_loop,
        "oom-kill": _oom_kill,
        "exit": _exit,
        "never-ready": _never_ready,
        "unready": _unready,
        "unhealthy": _unhealthy,
        "slow-volume": _slow_volume,
        "slow-image": _slow_image,
        "slow-stop": _slow_stop,
    }
)
"""What each fault does to the behaviour of a container."""
