"""Type hints that have no effect in a CRD."""

from __future__ import annotations

from typing import Annotated, Any

import pytest

from pilotage.meta.markers import Minimum
from pilotage.meta.models import Model, Resource, resource
from pilotage.schema.generate.crd import crd


class Size(Model):
    width: Annotated[int, "minimum=1"] = 1
    height: Annotated[int, Minimum(1)] = 1


@resource(group="hints.example.com", version="v1")
class Sized(Resource):
    spec: Size


def test_text_in_annotated_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        document: Any = crd(Sized)
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    assert "minimum" not in schema["width"]
    assert [record.getMessage() for record in caplog.records if record.name == "pilotage.schema"] == [
        f"{__name__}.Size.width: the text 'minimum=1' in Annotated is not a marker and has no effect: "
        "write a marker, as in Minimum(1)"
    ]
