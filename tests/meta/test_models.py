from __future__ import annotations

import gc
import sys
from typing import Any

import msgspec
import pytest

from pilotage.errors import InvalidDefinition
from pilotage.meta import objects
from pilotage.meta.models import Model, Resource, json_name, omit, resource
from pilotage.schema.generate.openapi import openapi
from pilotage.types.core.v1 import ConfigMap


class BasketSpec(Model):
    fruits: set[str] = set()
    pair: tuple[str, ...] = ()
    required: set[str]


@resource(group="demo.pilotage.dev", version="v1")
class Basket(Resource):
    spec: BasketSpec


def test_an_empty_set_or_tuple_is_not_written_unless_it_is_required() -> None:
    assert objects.document_of(Basket(spec=BasketSpec(required=set())))["spec"] == {"required": []}
    assert objects.document_of(Basket(spec=BasketSpec(required=set(), fruits={"fig"})))["spec"]["fruits"] == ["fig"]


class Address(Model):
    host_ip: str = json_name("hostIP")
    external_ips: list[str] = json_name("externalIPs", default=[])
    cluster_ip: str | None = json_name("clusterIP", default=None)
    port_number: int = json_name("PORT", default=80)
    note: str = omit("", name="NOTE")


def test_a_field_may_have_another_name_in_json() -> None:
    address = Address(host_ip="a")
    assert msgspec.to_builtins(address) == {"hostIP": "a", "PORT": 80}
    full = {"hostIP": "a", "externalIPs": ["b"], "clusterIP": "c", "PORT": 1, "NOTE": "d"}
    read = msgspec.convert(full, Address)
    assert (read.external_ips, read.cluster_ip, read.port_number, read.note) == (["b"], "c", 1, "d")
    assert msgspec.to_builtins(read) == full
    with pytest.raises(TypeError, match="Missing required argument 'host_ip'"):
        Address()  # type: ignore[call-arg]


def test_the_schema_has_the_other_name_of_a_field() -> None:
    properties = openapi(Address)["properties"]
    assert sorted(properties) == ["NOTE", "PORT", "clusterIP", "externalIPs", "hostIP"]
    assert properties["PORT"]["default"] == 80


def test_an_absent_set_reads_as_empty() -> None:
    read = objects.decode(Basket, b'{"spec":{"fruits":null}}')
    assert read.spec.fruits == read.spec.required == set()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scope": "cluster"}, 'give "Namespaced" or "Cluster"'),
        ({"scope": "namespaced"}, "Namespaced"),
        ({"short_names": "db"}, "short_names=\\['db'\\]"),
        ({"categories": "all"}, "categories=\\['all'\\]"),
        ({"selectable_fields": ".spec.x"}, "selectable_fields=\\["),
    ],
)
def test_options_that_mean_something_else_than_they_say_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidDefinition, match=message):
        resource(group="demo.pilotage.dev", version="v1", **options)


def test_a_class_that_names_another_one_of_a_function_is_refused_with_the_reason() -> None:
    class Inner(Model):
        size: int = 1

    @resource(group="demo.pilotage.dev", version="v1")
    class Local(Resource):
        spec: Inner

    with pytest.raises(InvalidDefinition, match=r"Local: .*'Inner'.*not inside a function"):
        objects.decode(Local, b"{}")


class Noted(Model, dict=True):
    text: str = ""


class Counting:
    """Methods for several kinds, in a class that is not a Model."""

    def count(self) -> int:
        return 1


@resource(group="demo.pilotage.dev", version="v1")
class Bag(Counting, Resource, frozen=True):  # type: ignore[misc]  # checkers refuse it, Python does not
    size: int = 0


def test_objects_are_not_tracked_by_the_cyclic_garbage_collector() -> None:
    read = objects.decode(Basket, b'{"metadata":{"name":"a","finalizers":["b/c"]},"spec":{"required":["apple"]}}')
    assert gc.is_tracked(read.spec.required)
    assert not gc.is_tracked(read)
    assert not gc.is_tracked(read.spec)
    assert not gc.is_tracked(read.metadata)


def test_what_is_no_field_of_a_kind_cannot_be_set() -> None:
    basket = Basket(spec=BasketSpec(required=set()))
    with pytest.raises(AttributeError, match="sepc"):
        basket.sepc = BasketSpec(required={"a"})  # type: ignore[attr-defined]


def test_a_kind_may_have_a_base_that_is_no_model_and_may_be_frozen() -> None:
    data = b'{"metadata":{"name":"a"},"size":2}'
    bag = objects.decode(Bag, data)
    assert (bag.count(), bag.size, objects.origin_of(bag)) == (1, 2, data)


def test_the_origin_of_an_object_is_released_with_it() -> None:
    data = b'{"metadata":{"name":"a"},"spec":{"required":[]}}' + b" " * 100
    before = sys.getrefcount(data)
    read = [objects.decode(Basket, data) for _ in range(10)]
    assert sys.getrefcount(data) == before + 10
    del read
    assert sys.getrefcount(data) == before


def test_a_model_may_have_attributes_besides_its_fields() -> None:
    noted = Noted(text="a")
    noted.__dict__["seen"] = True
    assert (noted.text, noted.__dict__) == ("a", {"seen": True})


def test_only_a_resource_is_a_kind() -> None:
    wrong: Any = Noted
    with pytest.raises(InvalidDefinition, match=r"^Noted is not a Resource: write class Noted\(Resource\)$"):
        resource(group="demo.pilotage.dev", version="v1")(wrong)


def test_an_argument_that_is_no_field_names_the_class_and_the_field_that_was_meant() -> None:
    with pytest.raises(TypeError) as caught:
        ConfigMap(dat={"a": "b"})  # type: ignore[call-arg]  # it is the point
    assert str(caught.value) == "ConfigMap has no field 'dat': did you mean \"data\"?"


def test_other_wrong_arguments_name_the_class() -> None:
    class Part(Model):
        name: str
        weight: int = 1

    with pytest.raises(TypeError) as missing:
        Part()  # type: ignore[call-arg]
    assert str(missing.value).endswith("Part: Missing required argument 'name'")
    with pytest.raises(TypeError) as unknown:
        Part(name="a", zzz=1)  # type: ignore[call-arg]
    assert str(unknown.value).endswith("Part has no field 'zzz': its fields are name, weight")
    with pytest.raises(TypeError) as positional:
        Part("a")  # type: ignore[call-arg]
    assert str(positional.value).endswith("Part takes its fields by their names: " + Part.__qualname__ + "(name=…)")


def test_a_type_error_of_the_class_itself_is_raised_as_it_is() -> None:
    class Checked(Model):
        name: str

        def __post_init__(self) -> None:
            raise TypeError("from the class")

    with pytest.raises(TypeError, match=r"^from the class$"):
        Checked(name="a")


def test_omit_takes_plain_values_alone() -> None:
    class Part(Model):
        name: str = "a"

    with pytest.raises(InvalidDefinition) as caught:
        omit(Part())
    assert str(caught.value) == (
        "omit(Part(name='a')): only a plain value such as text or a number can be left out by comparison; write "
        "`= None` for a field that may be absent, or the default without omit(…), which writes it"
    )
