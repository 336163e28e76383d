"""The property test of `pilotage.testing`: conversions lose nothing."""

from __future__ import annotations

from random import Random
from typing import Annotated

import pytest

import pilotage as pt
from pilotage.testing.conversion import check_round_trips

from ..webhook.conversion.jobs import V3, Job, JobV1


class SizeSpec(pt.Model):
    size: pt.Quantity
    code: Annotated[str, pt.Pattern("^[A-Z]{3}$")]


@pt.resource(group="sizes.pilotage.dev", version="v1")
class Size(pt.Resource):
    spec: SizeSpec
    conditions: list[pt.Condition] = []


@pt.resource(group="sizes.pilotage.dev", version="v2", kind="Size", storage=False)
class SizeV2(pt.Resource):
    spec: SizeSpec
    conditions: list[pt.Condition] = []

    def convert_to(self) -> Size:
        return Size(metadata=self.metadata, spec=self.spec, conditions=self.conditions)

    @classmethod
    def convert_from(cls, size: Size) -> SizeV2:
        return cls(metadata=size.metadata, spec=size.spec, conditions=size.conditions)


def schedule(random: Random) -> str:
    return f"{random.randint(0, 59)} {random.randint(0, 23)}"


def field(random: Random) -> str:
    return str(random.randint(0, 59))


VALUES = {"spec.schedule": schedule, "spec.minute": field, "spec.hour": field}


def test_conversions_that_lose_nothing_pass() -> None:
    check_round_trips(Job, V3, values=VALUES)


def test_a_loss_is_shown_with_the_smallest_object_that_has_it() -> None:
    with pytest.raises(AssertionError) as raised:
        check_round_trips(Job, JobV1, values=VALUES)
    text = str(raised.value)
    assert text.startswith("Job of jobs.pilotage.dev/v2 is not the same after the conversion to jobs.pilotage.dev/v1")
    assert '{"op":"remove","path":"/spec/zones"}' in text


def test_a_lossless_conversion_passes() -> None:
    check_round_trips(Job, JobV1, V3, lossless=True, values=VALUES)


def test_a_field_of_a_form_of_its_own_needs_a_function_for_its_values() -> None:
    with pytest.raises(pt.InvalidDefinition, match=r"for spec.code; pass values=\{'spec.code': lambda random: …\}"):
        check_round_trips(Size, SizeV2)
    # conditions and quantities need none
    check_round_trips(Size, SizeV2, values={"spec.code": lambda random: "".join(random.choices("ABC", k=3))})
