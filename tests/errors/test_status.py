from __future__ import annotations

import dataclasses
import pickle

import pytest

from pilotage.errors import Cause, Status, StatusDetails

STATUS = Status(409, "Conflict", "changed", StatusDetails(name="a", causes=(Cause("r", "m", "f"),), uid="u"))


def test_a_status_is_read_from_its_document() -> None:
    assert Status.from_document(STATUS.document()) == STATUS


def test_what_a_document_lacks_or_has_of_another_type_is_absent() -> None:
    document = {"code": True, "reason": 1, "details": {"causes": [None, {"field": "a"}]}, "metadata": None}
    assert Status.from_document(document) == Status(500, "", "", StatusDetails(causes=(Cause(field="a"),)))


def test_a_copy_has_other_values_in_some_fields() -> None:
    changed = STATUS.replace(message="other")
    assert (changed.message, changed.details, STATUS.message) == ("other", STATUS.details, "changed")
    assert STATUS.__replace__(message="other") == changed
    with pytest.raises(TypeError):
        dataclasses.replace(STATUS, message="other")  # type: ignore[type-var]  # that is what the test shows
    with pytest.raises(AttributeError, match="Status is immutable"):
        STATUS.code = 1


def test_a_status_can_be_sent_to_another_process() -> None:
    assert pickle.loads(pickle.dumps(STATUS)) == STATUS
