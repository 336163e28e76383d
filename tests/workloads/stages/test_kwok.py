"""kwok's own Stage files: what they give for kwok's own test data."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from pilotage.meta.text import gotext, yamltext
from pilotage.workloads.stages import stagefiles
from pilotage.workloads.stages.filestage import FileStage
from pilotage.workloads.stages.lifecycle import Lifecycle
from pilotage.workloads.stages.moment import Moment
from pilotage.workloads.stages.stage import Action, Apply, Event, Patch

FOLDER = Path(__file__).parent / "kwok"
INPUTS = sorted(FOLDER.glob("*/*/testdata/*.input.yaml"))
NOW = datetime(2006, 1, 2, 15, 4, 5, tzinfo=UTC)
TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/merge-patch+json",  # kwok's test has Pods without their type, and no file has `strategic`
    "apply": "application/apply-patch+yaml",
}


def stages_of(folder: Path) -> list[FileStage]:
    found: list[FileStage] = []
    for path in sorted(folder.glob("*.yaml")):
        documents = yamltext.read_all(path.read_text())
        found += [stagefiles.stage(each, path.name) for each in documents if stagefiles.is_stage(each)]
    return found


def called(name: str) -> Callable[..., str]:
    """A function that gives its own call, as kwok's test replaces those that depend on the moment."""
    return lambda *arguments: f"<{name}({', '.join(map(gotext.go_syntax, arguments))})>" if arguments else f"<{name}>"


def called_twice(name: str) -> Callable[..., list[str]]:
    return lambda *arguments: [called(f"{index} of {name}")(*arguments) for index in (0, 1)]


SINGLE = ("NodeIP", "NodeName", "NodePort", "PodIP", "NodeIPWith", "PodIPWith", "Now", "Version")
MOMENT = Moment(
    now=NOW,
    functions={name: called(name) for name in SINGLE}
    | {name: called_twice(name) for name in ("NodeIPsWith", "PodIPsWith")},
)


def shown(action: Action) -> dict[str, Any]:
    """An action in the form of kwok's output files."""
    if isinstance(action, Event):
        return {"kind": "event", "type": action.type, "reason": action.reason, "message": action.message}
    if isinstance(action, Patch | Apply):
        found = {"kind": type(action).__name__.lower(), "type": TYPES[action.type], "data": action.document}
        return found | ({"subresource": action.subresource} if action.subresource else {})
    return {"kind": "delete"}


def shown_stage(stage: FileStage, document: dict[str, Any]) -> dict[str, Any]:
    step = stage.step(document, MOMENT)
    actions = [*map(shown, step.actions), *([{"kind": "immediate"}] if step.immediate else [])]
    found: dict[str, Any] = {"stage": stage.name, "next": actions}
    if delays := [round(seconds * 1e9) for seconds in stage.delay_range(document, NOW)]:
        found["delay"] = delays
    if stage.spec.delay is None:
        assert stage.delay_range(document, NOW) == ()
    if (weight := stage.weight(document)) is not None:
        found["weight"] = weight
    return found


@pytest.mark.parametrize("path", INPUTS, ids=lambda path: path.name.removesuffix(".input.yaml"))
def test_a_stage_file_gives_what_kwok_gives(path: Path) -> None:
    document = yamltext.read(path.read_text())
    expected = yamltext.read(path.with_name(path.name.replace(".input.", ".output.")).read_text())
    lifecycle = Lifecycle(stages_of(path.parents[1]))
    candidates = lifecycle.candidates(document["apiVersion"], document["kind"], document)
    assert [shown_stage(each, document) for each in candidates if isinstance(each, FileStage)] == expected["stages"]


def test_all_stage_files_of_kwok_are_read() -> None:
    names = {
        stage.name for folder in {path.parent for path in FOLDER.glob("*/*/*.yaml")} for stage in stages_of(folder)
    }
    assert len(INPUTS) == 16
    assert names == {
        "node-heartbeat",
        "node-heartbeat-with-lease",
        "node-initialize",
        "node-not-ready",
        "pod-complete",
        "pod-container-running-failed",
        "pod-create",
        "pod-delete",
        "pod-init-container-completed",
        "pod-init-container-running",
        "pod-init-container-running-failed",
        "pod-ready",
        "pv-bind",
        "pv-delete",
        "pvc-delete",
        "pvc-provision",
    }
