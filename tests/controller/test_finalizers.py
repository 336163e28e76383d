from __future__ import annotations

from datetime import UTC, datetime

import pytest

from pilotage.controller import FinalizationFailed, Finalized, Finalizers
from pilotage.errors import InvalidDefinition

from .fakes import Widget, widget

DELETED = datetime(2026, 1, 2, tzinfo=UTC)


class Cleaner:
    def __init__(self, result: bool | Exception = False) -> None:
        self.result = result
        self.cleaned: list[str] = []

    async def __call__(self, obj: Widget) -> bool:
        self.cleaned.append(obj.metadata.name)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def registry(**cleaners: Cleaner) -> Finalizers[Widget]:
    finalizers: Finalizers[Widget] = Finalizers()
    for key, cleaner in cleaners.items():
        finalizers.register(f"demo.pilotage.dev/{key}", cleaner)
    return finalizers


@pytest.mark.covers("T171")
def test_a_key_can_be_registered_once() -> None:
    finalizers = registry(a=Cleaner())
    with pytest.raises(InvalidDefinition, match="/a' is registered"):
        finalizers.register("demo.pilotage.dev/a", Cleaner())


@pytest.mark.covers("T171")
async def test_a_living_object_gets_what_it_lacks() -> None:
    one, two = Cleaner(), Cleaner()
    obj = widget(finalizers=["demo.pilotage.dev/one"])
    finalizers = registry(one=one, two=two)
    assert await finalizers.finalize(obj) == Finalized(updated=True)
    assert obj.metadata.finalizers == ["demo.pilotage.dev/one", "demo.pilotage.dev/two"]
    assert await finalizers.finalize(obj) == Finalized()
    assert one.cleaned == two.cleaned == []


@pytest.mark.covers("T171")
async def test_an_object_that_is_being_deleted_is_cleaned_up_after_by_those_it_has() -> None:
    one, two, absent = Cleaner(), Cleaner(result=True), Cleaner()
    keys = ["demo.pilotage.dev/one", "demo.pilotage.dev/two", "somebody.else/three"]
    obj = widget(finalizers=keys, deletion_timestamp=DELETED)
    result = await registry(one=one, two=two, absent=absent).finalize(obj)
    assert result == Finalized(updated=True, status_updated=True)
    assert obj.metadata.finalizers == ["somebody.else/three"]
    assert (one.cleaned, two.cleaned, absent.cleaned) == (["a"], ["a"], [])
    assert await registry(one=one).finalize(obj) == Finalized()


@pytest.mark.covers("T171")
async def test_one_that_fails_stays_and_the_others_go_on() -> None:
    keys = ["demo.pilotage.dev/bad", "demo.pilotage.dev/good"]
    obj = widget(finalizers=keys, deletion_timestamp=DELETED)
    error = ConnectionError("no bucket today")
    with pytest.raises(FinalizationFailed, match="bad: ConnectionError: no bucket today") as raised:
        await registry(bad=Cleaner(error), good=Cleaner(result=True)).finalize(obj)
    assert raised.value.result == Finalized(updated=True, status_updated=True)
    assert raised.value.errors == {"demo.pilotage.dev/bad": error}
    assert obj.metadata.finalizers == ["demo.pilotage.dev/bad"]
