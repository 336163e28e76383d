"""What failing checks show."""

from __future__ import annotations

from pilotage.meta.unstructured import Unstructured
from pilotage.testing.waiting import Look


def test_a_document_without_metadata_is_shown() -> None:
    assert "kind: Widget" in str(Look(Unstructured({"apiVersion": "v1", "kind": "Widget"})))
