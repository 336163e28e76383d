from __future__ import annotations

import pytest

from pilotage.meta.documents import Document

from ...writes import created
from .specs import STRATEGY, container, found, pod, spec

APPARMOR = "container.apparmor.security.beta.kubernetes.io/main"
SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"


@pytest.mark.parametrize(
    ("annotations", "causes"),
    [
        ({"kubernetes.io/config.mirror": "x"}, [("Invalid", "metadata.annotations[kubernetes.io/config.mirror]")]),
        (
            {"controller.kubernetes.io/pod-deletion-cost": "+1"},
            [("Invalid", "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]")],
        ),
        ({"controller.kubernetes.io/pod-deletion-cost": "-10"}, []),
        ({SECCOMP: "other"}, [("Invalid", f"metadata.annotations.{SECCOMP}")]),
        ({APPARMOR: "other"}, [("Invalid", f"metadata.annotations[{APPARMOR}]")]),
        ({f"{APPARMOR}2": "unconfined"}, [("Invalid", f"metadata.annotations[{APPARMOR}2]")]),
    ],
)
def test_annotations_that_mean_something_are_checked(annotations: Document, causes: list[tuple[str, str]]) -> None:
    document = pod()
    document["metadata"]["annotations"] = annotations
    assert found(document) == causes


def test_a_profile_in_an_annotation_becomes_a_field_with_a_warning() -> None:
    metadata = {"name": "one", "namespace": "n", "annotations": {APPARMOR: "localhost/mine"}}
    document, causes = created(STRATEGY, metadata=metadata, spec=spec())
    assert not causes
    profile = {"type": "Localhost", "localhostProfile": "mine"}
    assert document["spec"]["containers"][0]["securityContext"] == {"appArmorProfile": profile}
    new = pod()
    new["metadata"] = metadata
    assert [warning.partition(": ")[0] for warning in STRATEGY.warnings(new, None)] == [
        f"metadata.annotations[{APPARMOR}]"
    ]


def test_a_profile_in_an_annotation_must_be_that_of_the_field() -> None:
    document = pod(container(securityContext={"appArmorProfile": {"type": "Unconfined"}}))
    document["metadata"]["annotations"] = {APPARMOR: "runtime/default"}
    assert found(document) == [("Forbidden", "spec.containers[0].securityContext.appArmorProfile.type")]
