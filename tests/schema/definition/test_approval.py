from __future__ import annotations

from typing import Any

import pytest

from pilotage.schema.definition import definition_causes
from pilotage.schema.definition.approval import APPROVAL, approval_of

from .test_validate import definition

ANNOTATION = f"metadata.annotations[{APPROVAL}]"


def protected(approval: str | None) -> dict[str, Any]:
    made = definition()
    made["spec"]["group"] = "demo.k8s.io"
    made["metadata"] = {"name": "widgets.demo.k8s.io", "annotations": {} if approval is None else {APPROVAL: approval}}
    return made


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        (None, "False", "MissingAnnotation"),
        ("https://github.com/kubernetes/kubernetes/pull/1", "True", "ApprovedAnnotation"),
        ("unapproved, experimental", "False", "UnapprovedAnnotation"),
        ("later", "False", "InvalidAnnotation"),
        ("http://[", "False", "InvalidAnnotation"),
    ],
)
def test_an_annotation_approves_a_definition_in_a_protected_group(text: str | None, status: str, reason: str) -> None:
    approval = approval_of(protected(text))
    assert approval is not None
    assert (approval.status, approval.reason) == (status, reason)


def test_other_groups_need_no_approval() -> None:
    assert approval_of(definition()) is None


def test_an_update_may_not_lose_the_approval_but_may_stay_without() -> None:
    approved, missing = protected("https://example.com/1"), protected(None)
    assert [(cause.reason, cause.field) for cause in definition_causes(missing, approved)] == [
        ("FieldValueRequired", ANNOTATION)
    ]
    assert definition_causes(missing, missing) == []
    assert [cause.field for cause in definition_causes(protected("later"))] == [ANNOTATION]
