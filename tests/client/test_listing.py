"""Lists, pages and selectors, on every API server."""

from __future__ import annotations

from typing import Any

import pytest

from pilotage.errors import ApiError, BadRequest, Invalid, InvalidDefinition, Timeout
from pilotage.meta.models import ObjectMeta
from pilotage.meta.selectors.selectors import Selector
from pilotage.types.core.v1 import ConfigMap, Namespace
from pilotage.types.meta.v1 import LabelSelector

from ..environments import Environment
from .kinds import WIDGETS, Widget, new_widget


async def config_maps(environment: Environment, *names: str, **labels: str) -> None:
    for name in names:
        await environment.client.create(
            ConfigMap(metadata=ObjectMeta(name=name, namespace=environment.namespace, labels=labels))
        )


async def test_a_list_is_in_the_order_of_names_and_has_a_version(environment: Environment) -> None:
    await config_maps(environment, "b", "a", "c")
    found = await environment.client.list(ConfigMap, namespace=environment.namespace)
    assert found.names == ["a", "b", "c"]
    assert int(found.resource_version) >= max(int(header.resource_version) for header in found.headers)
    assert (found.continue_token, found.remaining_item_count) == ("", None)


async def test_an_empty_list_has_a_version_too(environment: Environment) -> None:
    await environment.install(WIDGETS)
    found = await environment.client.list(Widget, namespace=environment.namespace)
    assert len(found) == 0
    assert int(found.resource_version) > 0


async def test_a_namespace_that_is_not_there_is_an_empty_one(environment: Environment) -> None:
    assert len(await environment.client.list(ConfigMap, namespace="nowhere")) == 0


@pytest.mark.covers("T134")
async def test_a_list_goes_over_all_namespaces(environment: Environment) -> None:
    other = await environment.client.create(Namespace(metadata=ObjectMeta(name=f"{environment.namespace}-b")))
    labels = {"test": environment.namespace}
    for namespace in (environment.namespace, other.metadata.name):
        await environment.client.create(ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace, labels=labels)))
    found = await environment.client.list(ConfigMap, labels=labels)
    # By the bytes of "namespace/name": a hyphen comes before the slash.
    assert [header.namespace for header in found.headers] == [other.metadata.name, environment.namespace]
    narrowed = await environment.client.list(
        ConfigMap, labels=labels, fields={"metadata.namespace": environment.namespace}
    )
    assert [header.namespace for header in narrowed.headers] == [environment.namespace]


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ("tier=front", ["a", "b"]),
        ("tier==front,app=web", ["a"]),
        ("tier!=front", ["c", "d"]),
        ("tier in (front, back)", ["a", "b", "c"]),
        ("tier notin (front)", ["c", "d"]),
        ("tier", ["a", "b", "c"]),
        ("!tier", ["d"]),
        ("rank>1", ["c"]),
        ("rank<2", ["b"]),
        ("app,tier,!rank", ["a"]),
        ("", ["a", "b", "c", "d"]),
        ({"tier": "front", "app": "web"}, ["a"]),
        ({}, ["a", "b", "c", "d"]),
        (Selector.parse("tier in (back)"), ["c"]),
    ],
)
@pytest.mark.covers("T134")
async def test_labels_select(
    environment: Environment, labels: str | dict[str, str] | Selector, names: list[str]
) -> None:
    await config_maps(environment, "a", tier="front", app="web")
    await config_maps(environment, "b", tier="front", rank="1")
    await config_maps(environment, "c", tier="back", rank="2")
    await config_maps(environment, "d")
    assert (await environment.client.list(ConfigMap, namespace=environment.namespace, labels=labels)).names == names


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("==", "found '==', expected: !, identifier, or 'end of string'"),
        ("a=x y", "found 'y', expected: ',' or 'end of string'"),
    ],
)
async def test_a_label_selector_that_is_none_is_a_bad_request(
    environment: Environment, labels: str, message: str
) -> None:
    with pytest.raises(BadRequest) as caught:
        await environment.client.list(ConfigMap, namespace=environment.namespace, labels=labels)
    assert caught.value.status.message == message
    assert str(caught.value) == f"{message}; the label selector is {labels!r}"


@pytest.mark.covers("T134", "T150")
async def test_fields_select(environment: Environment) -> None:
    await environment.install(WIDGETS)
    for name, colour in (("a", "red"), ("b", "blue"), ("c", None)):
        await environment.client.create(new_widget(environment.namespace, name, colour=colour))

    async def names(fields: str | dict[str, str]) -> list[str]:
        return (await environment.client.list(Widget, namespace=environment.namespace, fields=fields)).names

    assert await names({"metadata.name": "a"}) == ["a"]
    assert await names("metadata.name!=a") == ["b", "c"]
    assert await names({"spec.colour": "red"}) == ["a"]
    assert await names("spec.colour=") == ["c"]
    assert await names(f"metadata.namespace={environment.namespace},metadata.name=b") == ["b"]
    assert await names({"metadata.name": "a,b=c\\"}) == []


@pytest.mark.covers("T150")
async def test_a_field_that_cannot_select_is_a_bad_request(environment: Environment) -> None:
    await environment.install(WIDGETS)
    with pytest.raises(BadRequest, match=r"field label not supported: spec\.size"):
        await environment.client.list(Widget, namespace=environment.namespace, fields={"spec.size": "1"})
    with pytest.raises(BadRequest, match=r'"data" is not a known field selector: only "metadata\.name"'):
        await environment.client.list(ConfigMap, namespace=environment.namespace, fields={"data": "1"})
    with pytest.raises(BadRequest, match="invalid selector: 'nonsense'; can't understand 'nonsense'"):
        await environment.client.list(Widget, namespace=environment.namespace, fields="nonsense")


@pytest.mark.covers("T134")
async def test_pages_are_of_one_snapshot(environment: Environment) -> None:
    await config_maps(environment, "a", "b", "c", "d", "e")
    first = await environment.client.list(ConfigMap, namespace=environment.namespace, limit=2)
    assert first.names == ["a", "b"]
    assert first.remaining_item_count == 3
    await config_maps(environment, "aa", "bb", "z")
    await environment.client.delete(ConfigMap, "d", namespace=environment.namespace)
    names, page = list(first.names), first
    while page.continue_token:
        page = await environment.client.list(
            ConfigMap, namespace=environment.namespace, limit=2, continue_token=page.continue_token
        )
        names += page.names
        assert page.resource_version == first.resource_version
    assert names == ["a", "b", "c", "d", "e"]
    assert page.remaining_item_count is None


async def test_a_page_is_full_of_what_is_selected(environment: Environment) -> None:
    await config_maps(environment, "a", "c", "e", odd="yes")
    await config_maps(environment, "b", "d")
    page = await environment.client.list(ConfigMap, namespace=environment.namespace, labels="odd", limit=2)
    assert page.names == ["a", "c"]
    assert page.continue_token
    assert page.remaining_item_count is None
    rest = await environment.client.list(
        ConfigMap, namespace=environment.namespace, labels="odd", limit=2, continue_token=page.continue_token
    )
    assert (rest.names, rest.continue_token) == (["e"], "")


async def test_a_token_that_is_none_is_a_bad_request(environment: Environment) -> None:
    with pytest.raises(BadRequest, match="continue"):
        await environment.client.list(ConfigMap, namespace=environment.namespace, limit=1, continue_token="nonsense")


async def test_a_token_and_a_version_do_not_go_together(environment: Environment) -> None:
    await config_maps(environment, "a", "b")
    page = await environment.client.list(ConfigMap, namespace=environment.namespace, limit=1)
    with pytest.raises(BadRequest, match="specifying resource version is not allowed when using continue"):
        await environment.client.list(
            ConfigMap,
            namespace=environment.namespace,
            limit=1,
            continue_token=page.continue_token,
            resource_version=page.resource_version,
        )


async def test_an_old_snapshot_can_be_listed_exactly(environment: Environment) -> None:
    await config_maps(environment, "a")
    before = await environment.client.list(ConfigMap, namespace=environment.namespace)
    await config_maps(environment, "b")
    found = await environment.client.list(
        ConfigMap,
        namespace=environment.namespace,
        resource_version=before.resource_version,
        resource_version_match="Exact",
    )
    assert (found.names, found.resource_version) == (["a"], before.resource_version)
    newer = await environment.client.list(
        ConfigMap,
        namespace=environment.namespace,
        resource_version=before.resource_version,
        resource_version_match="NotOlderThan",
    )
    assert newer.names == ["a", "b"]


@pytest.mark.parametrize(
    ("version", "match", "message"),
    [
        ("", "Exact", "resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ("", "NotOlderThan", "resourceVersionMatch is forbidden unless resourceVersion is provided"),
        ("0", "Exact", 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'),
        ("5", "Nearly", 'Unsupported value: "Nearly": supported values: "Exact", "NotOlderThan", ""'),
    ],
)
async def test_version_matches_that_make_no_sense_are_invalid(
    environment: Environment, version: str, match: str, message: str
) -> None:
    with pytest.raises(Invalid) as caught:
        await environment.client.list(
            ConfigMap, namespace=environment.namespace, resource_version=version, resource_version_match=match
        )
    assert str(caught.value).startswith('ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: ')
    assert message in str(caught.value)


async def test_a_version_of_a_list_must_be_a_number(environment: Environment) -> None:
    with pytest.raises(BadRequest, match="abc"):
        await environment.client.list(ConfigMap, namespace=environment.namespace, resource_version="abc")
    with pytest.raises(ApiError, match="abc") as caught:
        await environment.client.get(ConfigMap, "a", namespace=environment.namespace, resource_version="abc")
    assert caught.value.status.code == 500


async def test_a_version_of_the_future_times_out(environment: Environment) -> None:
    with pytest.raises(Timeout, match="Too large resource version: 99999999, current: ") as caught:
        await environment.client.list(
            ConfigMap, namespace=environment.namespace, resource_version="99999999", resource_version_match="Exact"
        )
    assert [cause.reason for cause in caught.value.causes] == ["ResourceVersionTooLarge"]


async def test_any_version_will_do_for_zero(environment: Environment) -> None:
    await config_maps(environment, "a")
    before = await environment.client.list(ConfigMap, namespace=environment.namespace)
    found = await environment.client.list(
        ConfigMap,
        namespace=environment.namespace,
        resource_version=before.resource_version,
    )
    assert found.names == ["a"]
    assert isinstance(
        (await environment.client.list(ConfigMap, namespace=environment.namespace, resource_version="0")).names, list
    )


@pytest.mark.covers("T135", "T150")
async def test_selectors_restrict_together_in_any_order_and_an_empty_one_does_not(environment: Environment) -> None:
    for name, labels in (("one", {"a": "1"}), ("two", {"a": "1", "b": "2"}), ("three", {"b": "2"})):
        metadata = ObjectMeta(
            name=name, namespace=environment.namespace, labels={**labels, "set": environment.namespace}
        )
        await environment.client.create(ConfigMap(metadata=metadata))
    mine = {"set": environment.namespace}

    async def names(labels: dict[str, str] | None, fields: dict[str, str] | None = None) -> list[str]:
        found = await environment.client.list(ConfigMap, namespace=environment.namespace, labels=labels, fields=fields)
        return [name for name in found.names if name in ("one", "two", "three")]

    assert await names(mine | {"a": "1", "b": "2"}) == ["two"]
    assert await names({"b": "2", "a": "1"} | mine) == ["two"]
    assert await names(mine | {"a": "1"}, {"metadata.name": "one"}) == ["one"]
    assert await names(mine, None) == await names(mine, {}) == ["one", "three", "two"]
    assert await names(None) == await names({}) == ["one", "three", "two"]


@pytest.mark.parametrize("labels", [LabelSelector(match_labels={"app": "web"}), {"matchLabels": {"app": "web"}}])
async def test_the_label_selector_of_an_object_is_refused_with_what_makes_a_selector_of_it(
    environment: Environment, labels: Any
) -> None:
    with pytest.raises(InvalidDefinition) as caught:
        await environment.client.list(ConfigMap, namespace=environment.namespace, labels=labels)
    assert str(caught.value).endswith(
        " is not a selector: from the LabelSelector of an object it is made by "
        "labels=pt.meta.Selector.from_label_selector(…)"
    )


@pytest.mark.parametrize("labels", [{"app": None}, {"app": ["web", "api"]}, {"app": 5}, ["app=web"], 5])
async def test_a_selector_of_another_type_is_refused(environment: Environment, labels: Any) -> None:
    with pytest.raises(InvalidDefinition, match="is not a selector: give a mapping of texts"):
        await environment.client.list(ConfigMap, namespace=environment.namespace, labels=labels)
    with pytest.raises(InvalidDefinition, match="is not a selector: give a mapping of texts"):
        await environment.client.list(ConfigMap, namespace=environment.namespace, fields=labels)
