"""Pods for tests: a small valid one, with what a test changes."""

from __future__ import annotations

from typing import Any

from pilotage.codec.defaults.pods import default_pod
from pilotage.kubernetes.core.pods.spec import validate_new_pod
from pilotage.meta.documents import Document

from ...writes import strategy_of

STRATEGY = strategy_of("pods")


def container(**fields: Any) -> Document:
    return {"name": "main", "image": "nginx:1"} | fields


def spec(*containers: Document, **fields: Any) -> Document:
    return {"containers": list(containers) or [container()]} | fields


def pod(*containers: Document, **fields: Any) -> Document:
    """A pod after defaulting."""
    document = {"metadata": {"name": "one", "namespace": "n"}, "spec": spec(*containers, **fields)}
    default_pod(document)
    return document


def found(document: Document) -> list[tuple[str, str]]:
    """The reasons and fields of what is wrong with a new pod."""
    return [(cause.reason.removeprefix("FieldValue"), cause.field) for cause in validate_new_pod(document)]
