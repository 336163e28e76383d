from __future__ import annotations

import pytest
from msgspec.structs import replace

from pilotage.meta.values import Value


class Letter(Value, frozen=True):
    __unshown__ = frozenset({"text"})

    to: str
    text: str = ""


def test_a_value_does_not_show_its_unshown_fields() -> None:
    assert repr(Letter("home", "secret")) == "Letter(to='home')"


def test_a_value_cannot_be_changed_but_copied_with_changes() -> None:
    letter = Letter("home", "secret")
    with pytest.raises(AttributeError):
        letter.to = "work"  # type: ignore[misc]
    assert replace(letter, to="work") == Letter("work", "secret")
    assert len({letter, Letter("home", "secret")}) == 1
