from __future__ import annotations

import pytest

from pilotage.errors import InvalidDefinition
from pilotage.meta.kinds import GroupVersionKind
from pilotage.meta.mapping.scheme import Scheme
from pilotage.meta.models import Resource, resource

WIDGET = GroupVersionKind("example.com", "v1", "Widget")


@resource(group="example.com", version="v1")
class Widget(Resource):
    pass


@resource(group="example.com", version="v1", kind="Widget")
class OtherWidget(Resource):
    pass


class Nameless(Resource):
    pass


def test_types_and_kinds_lead_to_each_other() -> None:
    scheme = Scheme()
    assert not scheme.recognizes(WIDGET)
    scheme.add_known_types(Widget)
    scheme.add_known_types(Widget)
    assert scheme.type_for(WIDGET) is Widget
    assert scheme.recognizes(WIDGET)


def test_a_type_knows_its_kind_without_being_added() -> None:
    assert Scheme().gvk_for(Widget) == WIDGET


def test_two_types_for_one_kind_are_refused_by_name_and_nothing_is_added() -> None:
    scheme = Scheme()
    with pytest.raises(InvalidDefinition, match=r"Kind=Widget has two types, .*\.Widget and .*\.OtherWidget"):
        scheme.add_known_types(Widget, OtherWidget)
    assert not scheme.recognizes(WIDGET)
    scheme.add_known_types(OtherWidget)
    with pytest.raises(InvalidDefinition):
        scheme.add_known_types(Widget)


def test_a_class_without_a_kind_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="Nameless has no kind; put @resource"):
        Scheme().add_known_types(Nameless)


def test_a_missing_entry_is_looked_for() -> None:
    scheme = Scheme(fallback={WIDGET: Widget}.get)
    assert scheme.type_for(WIDGET) is Widget
    assert scheme.type_for(WIDGET._replace(kind="X")) is None
    scheme.add_known_types(OtherWidget)
    assert scheme.type_for(WIDGET) is OtherWidget
