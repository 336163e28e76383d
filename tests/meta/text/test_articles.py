"""What a value is, in messages."""

from __future__ import annotations

import pytest

from pilotage.meta.text.articles import of_type


class Item:
    """A class whose name begins with a vowel."""


@pytest.mark.parametrize(("value", "text"), [(None, "None"), (1, "an int"), (Item(), "an Item"), ("", "a str")])
def test_a_type_has_its_article(value: object, text: str) -> None:
    assert of_type(value) == text
