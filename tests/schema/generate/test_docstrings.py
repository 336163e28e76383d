from __future__ import annotations

from pilotage.meta.models import Model, ModelMeta
from pilotage.schema.generate import docstrings


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


def test_the_text_under_a_field_is_its_description_and_a_subclass_may_replace_it() -> None:
    assert docstrings.of_fields(Derived) == {
        "inherited": "From the base.",
        "replaced": "Said anew.\n\nAt length:\n    deeper.",
    }


def test_a_docstring_is_never_inherited() -> None:
    assert docstrings.of_class(Base) == "The base."
    assert docstrings.of_class(Derived) == ""


class Outer(Model):
    class Inner(Model):
        field: str = ""
        """Of the inner class."""

    field: str = ""
    """Of the outer class."""


if Derived.__name__ == "":

    class Branched(Model):
        field: str = ""
        """Of the branch that is not taken."""

else:

    class Branched(Model):  # type: ignore[no-redef]
        field: str = ""
        """Of the branch that is taken."""


def test_a_class_is_distinguished_from_others_of_its_name() -> None:
    class Derived(Model):
        field: str = ""
        """Of the class in the function."""

    assert docstrings.of_fields(Derived) == {"field": "Of the class in the function."}
    assert docstrings.of_fields(Branched) == {"field": "Of the branch that is taken."}
    assert docstrings.of_fields(Outer.Inner) == {"field": "Of the inner class."}


def test_a_class_without_source_has_no_texts() -> None:
    made = ModelMeta("Made", (Model,), {"__annotations__": {"x": int}, "__module__": "nowhere"})
    assert docstrings.of_fields(made) == {}
