from __future__ import annotations

from pilotage.meta.causes import invalid_error, required
from pilotage.meta.kinds import GroupKind


def test_a_cause_that_comes_twice_is_in_the_message_once() -> None:
    error = invalid_error(GroupKind("", "Pod"), "a", [required("spec.b"), required("spec.b"), required("spec.c")])
    assert str(error.status.message) == 'Pod "a" is invalid: [spec.b: Required value, spec.c: Required value]'
    assert error.status.details is not None
    assert [cause.field for cause in error.status.details.causes] == ["spec.b", "spec.b", "spec.c"]
