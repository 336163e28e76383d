from __future__ import annotations

from typing import Any, cast

import pytest

from pilotage.controller import (
    Event,
    Predicate,
    and_,
    annotation_changed,
    generation_changed,
    label_changed,
    label_selector,
    not_,
    on_object,
    or_,
    resource_version_changed,
)
from pilotage.errors import InvalidDefinition
from pilotage.meta.selectors.selectors import Selector

from .fakes import Widget, widget

CHANGES: list[tuple[Predicate, dict[str, Any], dict[str, Any]]] = [
    (resource_version_changed, {"version": "1"}, {"version": "2"}),
    (generation_changed, {"generation": 1}, {"generation": 2}),
    (label_changed, {"labels": {"a": "b"}}, {"labels": {"a": "c"}}),
    (annotation_changed, {"annotations": {}}, {"annotations": {"a": "c"}}),
]


@pytest.mark.covers("T164")
@pytest.mark.parametrize(("predicate", "before", "after"), CHANGES)
def test_a_change_predicate_looks_at_updates_alone(
    predicate: Predicate, before: dict[str, Any], after: dict[str, Any]
) -> None:
    old, new = widget(**before), widget(**after)
    assert predicate(Event.update(old, new))
    assert not predicate(Event.update(old, widget(**before)))
    assert not predicate(Event.update(None, new))
    assert not predicate(Event.update(old, None))
    for event in (Event.create(new), Event.delete(new), Event.generic(new), Event.create(None)):
        assert predicate(event)


def test_other_changes_do_not_pass() -> None:
    old, new = widget(version="1", labels={"a": "b"}), widget(version="2", labels={"a": "c"})
    assert not generation_changed(Event.update(old, new))
    assert not annotation_changed(Event.update(old, new))


@pytest.mark.covers("T164")
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("second", [True, False])
def test_and_or_not_have_their_truth_tables(first: bool, second: bool) -> None:
    event = Event.create(widget())
    one, other = (lambda _: first), (lambda _: second)
    assert and_(one, other)(event) is (first and second)
    assert or_(one, other)(event) is (first or second)
    assert not_(one)(event) is (not first)
    assert and_()(event)
    assert not or_()(event)


@pytest.mark.covers("T164")
@pytest.mark.parametrize("selector", ["app=web", {"matchLabels": {"app": "web"}}, Selector.from_labels({"app": "web"})])
def test_a_label_selector_looks_at_the_new_object(selector: Any) -> None:
    passes = label_selector(selector)
    web, other = widget(labels={"app": "web"}), widget(labels={"app": "db"})
    assert passes(Event.update(other, web))
    assert not passes(Event.update(web, other))
    assert passes(Event.delete(web))
    assert not passes(Event.create(None))


def test_a_bad_selector_is_refused_where_it_is_given() -> None:
    with pytest.raises(InvalidDefinition, match="label_selector"):
        label_selector("app in (")


def test_a_filter_looks_at_the_new_object_of_an_update_and_at_nothing_where_there_is_none() -> None:
    def is_b(obj: Widget) -> bool:
        return obj.metadata.name == "b"

    named_b = on_object(is_b)
    assert named_b(Event.update(widget("a"), widget("b")))
    assert not named_b(Event.update(widget("b"), widget("a")))
    assert named_b(Event.delete(widget("b")))
    assert not named_b(Event.generic(cast(Widget, None)))
