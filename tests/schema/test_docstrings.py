from __future__ import annotations

from pilotage.meta.models import Model, ModelMeta
from pilotage.schema import docstrings


class Base(Model):
    """The base."""

    inherited: str = ""
    """From the base."""
    replaced: str = ""
    """From the base."""


class Derived(Base):
    replaced: str = ""
    """Said anew.

    At length:
        deeper.
    """
    silent: str = ""
    with_comment: str = ""  # a comment is no docstring


def test_the_text_under_a_field_is_its_own_and_a_subclass_says_it_anew() -> None:
    assert docstrings.of_fields(Derived) == {
        "inherited": "From the base.",
        "replaced": "Said anew.\n\nAt length:\n    deeper.",
    }


def test_a_docstring_is_never_inherited() -> None:
    assert docstrings.of_class(Base) == "The base."
    assert docstrings.of_class(Derived) == ""


def test_a_class_without_source_has_no_texts() -> None:
    made = ModelMeta("Made", (Model,), {"__annotations__": {"x": int}, "__module__": "nowhere"})
    assert docstrings.of_fields(made) == {}
