"""Stage files that are not valid: the error names the file, the Stage and the field."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pilotage.errors import InvalidDefinition
from pilotage.meta.text import yamltext
from pilotage.workloads.stages import stagefiles
from pilotage.workloads.stages.filestage import FileStage
from pilotage.workloads.stages.stage import ResourceRef

HEADER = """
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: s}
spec:
  resourceRef: {kind: Pod}
"""


def golden(name: str) -> dict[str, str]:
    """What is given, and on the next line the message."""
    lines = (Path(__file__).parent / name).read_text().splitlines()
    return {given: message.strip() for given, message in zip(lines[::2], lines[1::2], strict=True)}


def parsed(spec: str) -> FileStage:
    (stage,) = stagefiles.parse(HEADER + spec, "f.yaml")
    return stage


PROBLEMS = golden("problems.txt")


@pytest.mark.parametrize(("spec", "message"), PROBLEMS.items(), ids=lambda text: text[:50])
def test_a_problem_names_file_stage_and_field(spec: str, message: str) -> None:
    with pytest.raises(InvalidDefinition) as raised:
        parsed(f"  {spec}")
    assert str(raised.value).split("\n")[0] == f"f.yaml: Stage s: {message}"


WRONG_DOCUMENTS = golden("documents.txt")


@pytest.mark.parametrize(("text", "message"), WRONG_DOCUMENTS.items(), ids=lambda text: text[-40:])
def test_a_document_that_is_not_a_stage_is_refused(text: str, message: str) -> None:
    with pytest.raises(InvalidDefinition) as raised:
        stagefiles.parse(text, "f.yaml")
    assert str(raised.value).startswith(message)


def test_a_file_has_any_number_of_stages_and_lists_of_them() -> None:
    one = yamltext.read(HEADER)
    text = yamltext.write_all([one, {"kind": "List", "apiVersion": "v1", "items": [one, one]}])
    assert [stage.name for stage in stagefiles.parse(text, "f.yaml")] == ["s", "s", "s"]


def test_the_group_of_a_stage_is_the_core_group_unless_given() -> None:
    assert parsed("").resource == ResourceRef("v1", "Pod")


def test_steps_replace_next() -> None:
    stage = parsed("  next: {delete: true}\n  steps: [{event: {reason: R}}]")
    assert [type(each.fields).__name__ for each in stage.spec.definitions] == ["EventFields"]


FIELDS = """resourceRef kind apiGroup selector matchLabels matchAnnotations matchExpressions key operator values cel jq
weight expression weightFrom delay durationMilliseconds durationFrom expressionFrom next event steps patch template type
root finalizers add remove value statusTemplate subresource delete apply immediateNextStage metadata name spec"""
NAMES = st.sampled_from(FIELDS.split())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(NAMES, VALUES))
def test_any_spec_is_a_stage_or_an_invalid_definition(spec: dict[str, object]) -> None:
    document = {"apiVersion": stagefiles.API_VERSION, "kind": "Stage", "metadata": {"name": "s"}, "spec": spec}
    with suppress(InvalidDefinition):
        assert stagefiles.stage(document, "f.yaml").name == "s"


@given(st.text() | st.binary())
def test_any_text_is_stages_or_an_invalid_definition(text: str | bytes) -> None:
    with suppress(InvalidDefinition):
        assert stagefiles.parse(text, "f.yaml") == []
