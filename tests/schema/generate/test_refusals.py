"""The messages about invalid definitions."""

from __future__ import annotations

import pytest

from pilotage.errors import InvalidDefinition
from pilotage.meta.models import Model, Resource
from pilotage.schema.generate.crd import crd
from pilotage.schema.generate.openapi import openapi
from tests.schema import golden_files
from tests.schema.apis import models

PARTS = ("Part", "Spec", "Locked", "Empty", "DefaultOutside", "DefaultOfOtherType")  # what the wrong ones are made of


def refused(model: type[Model]) -> str:
    with pytest.raises(InvalidDefinition) as caught:
        crd(model) if issubclass(model, Resource) else openapi(model)
    return str(caught.value)


def test_every_invalid_definition_has_an_error_with_place_reason_and_remedy() -> None:
    wrong = [model for model in models("wrong") if model.__name__ not in PARTS]
    golden_files.check("refusals.txt", "".join(f"{model.__name__}\n  {refused(model)}\n" for model in wrong))


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_wrong_definitions_are_right_by_themselves(name: str) -> None:
    model = next(model for model in models("wrong") if model.__name__ == name)
    assert openapi(model)["type"] == "object"
