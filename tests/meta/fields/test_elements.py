"""Path elements: one canonical form for each, however a client wrote it."""

from __future__ import annotations

import json

import pytest

from pilotage.meta.fields import elements
from pilotage.meta.fields.sets import FieldSet


def test_a_key_has_one_form() -> None:
    assert elements.key({"protocol": "TCP", "port": 80}) == 'k:{"port":80,"protocol":"TCP"}'
    written: FieldSet = {'k:{ "protocol": "TCP", "port": 80.0 }': {".": {}, 'v:"a\\u0062"': {}, "i:07": {}}}
    assert elements.normalized(written) == {'k:{"port":80,"protocol":"TCP"}': {".": {}, 'v:"ab"': {}, "i:7": {}}}


def test_a_member_with_nothing_below_it_has_one_form() -> None:
    assert elements.normalized({"f:a": {".": {}}, "f:b": {".": {}, "f:c": {}}}) == {
        "f:a": {},
        "f:b": {".": {}, "f:c": {}},
    }


def test_a_path_is_shown_as_kubernetes_shows_it() -> None:
    path = ("f:spec", 'k:{"name":"a \\"b\\"","port":80}', "f:args", 'v:"x"', "i:3")
    assert elements.shown(path) == '.spec[name="a \\"b\\"",port=80].args[="x"][3]'


def test_an_unknown_kind_of_element_is_dropped() -> None:
    assert elements.normalized({"f:a": {}, "z:later": {"f:b": {}}}) == {"f:a": {}}


@pytest.mark.parametrize(
    "fields",
    [
        "text",
        {"f": {}},
        {"": {}},
        {"f:a": 3},
        {"k:[]": {}},
        {"k:{": {}},
        {"v:": {}},
        {"i:x": {}},
        {"i:": {}},
        {"v:" + "[" * 5000: {}},
    ],
    ids=str,
)
def test_what_is_not_a_set_is_an_error(fields: object) -> None:
    with pytest.raises(ValueError, match=r".+"):
        elements.normalized(fields)


def test_elements_are_in_the_order_of_kubernetes() -> None:
    ports: FieldSet = {'k:{"port":443}': {}, 'k:{"port":80}': {"f:b": {}, "f:a": {}, ".": {}}, ".": {}}
    fields: FieldSet = {"f:spec": {"f:ports": ports, "f:list": {'v:"b"': {}, 'v:"a"': {}}}, "f:data": {}}
    assert json.dumps(elements.ordered(fields)) == json.dumps(
        {
            "f:data": {},
            "f:spec": {
                "f:list": {'v:"a"': {}, 'v:"b"': {}},
                "f:ports": {".": {}, 'k:{"port":80}': {".": {}, "f:a": {}, "f:b": {}}, 'k:{"port":443}': {}},
            },
        }
    )
    assert elements.ordered(fields) == fields


def test_keys_of_different_types_are_in_one_order() -> None:
    fields: FieldSet = {f"v:{item}": {} for item in ('"a"', "null", "2", "true", "[]")}
    assert list(elements.ordered(fields)) == ["v:true", "v:2", 'v:"a"', "v:[]", "v:null"]
