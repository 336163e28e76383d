"""The flags of simulated workloads."""

from __future__ import annotations

from pathlib import Path

import pytest

from pilotage.cli.simulated import check_flags, workload_options
from pilotage.kit.console.errors import CommandError

KWOK = Path(__file__).parents[1] / "workloads" / "stages" / "kwok"
STAGE = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: mine}
spec:
  resourceRef: {kind: Pod}
  next: {statusTemplate: TEMPLATE}
"""


def test_stages_come_from_files_and_folders() -> None:
    options = workload_options(None, (), [KWOK / "pod" / "fast", KWOK / "node" / "fast" / "node-initialize.yaml"])
    assert [stage.name for stage in options.stages] == ["pod-complete", "pod-delete", "pod-ready", "node-initialize"]


def test_a_folder_may_have_other_objects_beside_stages(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"kind: Kustomization\n---{STAGE}")
    (tmp_path / "b.txt").write_text("no stage")
    assert [stage.name for stage in workload_options(1, (), [tmp_path]).stages] == ["mine"]


def test_stages_need_workloads() -> None:
    with pytest.raises(CommandError, match=r"^--stages needs --workloads$"):
        check_flags("--workloads", False, None, (), [KWOK])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (STAGE.replace("TEMPLATE", "'{{ env }}'"), 'Stage mine: spec.next.statusTemplate: the function "env" is not '),
        ("kind: Pod", "Pod of None is not a Stage of kwok.x-k8s.io/v1alpha1"),
        ("", "there is no Stage of kwok.x-k8s.io/v1alpha1"),
        ("a: [", "the document is not YAML"),
    ],
)
def test_a_problem_of_a_stage_is_one_line_with_the_file(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(CommandError) as raised:
        check_flags("--workloads", True, None, (), [path])
    assert str(raised.value).startswith(f"--stages: {path}: {message}")
    assert "\n" not in str(raised.value)


def test_a_file_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"^--stages: .*none\.yaml: No such file or directory$"):
        check_flags("--workloads", True, None, (), [tmp_path / "none.yaml"])
