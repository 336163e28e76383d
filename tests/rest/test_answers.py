from __future__ import annotations

from typing import Any

import msgspec
import pytest

from pilotage.errors import DecodeError, UnexpectedAnswer
from pilotage.meta.kinds import GroupVersionKind
from pilotage.rest.answers import Expected
from pilotage.rest.request import Form
from pilotage.rest.response import Page

CONFIG_MAPS = Expected(GroupVersionKind("", "v1", "ConfigMap"))
DEPLOYMENTS = Expected(GroupVersionKind("apps", "v1", "Deployment"))
WIDGETS = Expected(GroupVersionKind("example.com", "v1", "Widget"))
METADATA = Expected(GroupVersionKind("apps", "v1", "Deployment"), Form.METADATA)
PARTIAL = "PartialObjectMetadata"


def page(kind: str, api_version: str = "") -> Page:
    return Page([], "5", list_kind=kind, list_api_version=api_version)


def document(kind: str, api_version: str, **metadata: Any) -> bytes:
    return msgspec.json.encode({"kind": kind, "apiVersion": api_version, "metadata": metadata})


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (CONFIG_MAPS, page("ConfigMapList", "v1")),
        (CONFIG_MAPS, page("ConfigMapList")),
        (CONFIG_MAPS, page("")),
        (DEPLOYMENTS, page("DeploymentList", "apps/v1")),
        (DEPLOYMENTS, page("DeploymentList", "apps/v1beta2")),
        (METADATA, page(f"{PARTIAL}List", "meta.k8s.io/v1")),
        (METADATA, page("DeploymentList", "apps/v1")),
        (WIDGETS, page("AllTheWidgets", "example.com/v1")),
    ],
)
def test_a_list_of_the_kind_is_taken(expected: Expected, found: Page) -> None:
    expected.check_page(found)


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (CONFIG_MAPS, page("Status", "v1")),
        (CONFIG_MAPS, page("PodList", "v1")),
        (CONFIG_MAPS, page("ConfigMap", "v1")),
        (CONFIG_MAPS, page("List", "v1")),
        (CONFIG_MAPS, page("ConfigMapList", "example.com/v1")),
        (CONFIG_MAPS, page(f"{PARTIAL}List", "meta.k8s.io/v1")),
        (DEPLOYMENTS, page("DeploymentList", "extensions/v1beta1")),
        (WIDGETS, page("Status", "v1")),
        (WIDGETS, page("WidgetList", "example.org/v1")),
    ],
)
def test_a_list_of_something_else_is_refused(expected: Expected, found: Page) -> None:
    with pytest.raises(UnexpectedAnswer):
        expected.check_page(found)


def test_the_error_names_the_expected_and_the_received_kind() -> None:
    with pytest.raises(UnexpectedAnswer) as caught:
        CONFIG_MAPS.check_page(page("PodList", "v1"))
    assert str(caught.value) == (
        "the server was asked for a list of ConfigMap of v1 and answered with PodList of v1; "
        "check the URL of the server, and the proxies on the way to it"
    )


@pytest.mark.parametrize(
    ("expected", "data"),
    [
        (CONFIG_MAPS, document("ConfigMap", "v1", name="a", namespace="n")),
        (DEPLOYMENTS, document("Deployment", "apps/v1beta2", name="a", namespace="n")),
        (METADATA, document(PARTIAL, "meta.k8s.io/v1", name="a", namespace="n")),
        (METADATA, document("Deployment", "apps/v1", name="a", namespace="n")),
    ],
)
def test_an_object_of_the_kind_and_name_is_taken(expected: Expected, data: bytes) -> None:
    expected.check_object(data, name="a", namespace="n")
    expected.check_item(data)


@pytest.mark.parametrize(
    "data",
    [
        document("Status", "v1"),
        document("Deployment", "extensions/v1beta1", name="a", namespace="n"),
        document("StatefulSet", "apps/v1", name="a", namespace="n"),
        document(PARTIAL, "meta.k8s.io/v1", name="a", namespace="n"),
        document("Deployment", "apps/v1", name="b", namespace="n"),
        document("Deployment", "apps/v1", name="a", namespace="m"),
        document("Deployment", "apps/v1", name="a"),
        b"{}",
    ],
)
def test_another_object_is_refused(data: bytes) -> None:
    with pytest.raises(UnexpectedAnswer):
        DEPLOYMENTS.check_object(data, name="a", namespace="n")


def test_an_object_of_a_list_need_not_say_its_kind() -> None:
    DEPLOYMENTS.check_item(b'{"metadata":{"name":"a"}}')


def test_null_is_taken_for_what_is_not_there() -> None:
    data = b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":null}}'
    CONFIG_MAPS.check_object(data, name="a")
    CONFIG_MAPS.check_item(b'{"kind":null,"apiVersion":null,"metadata":null}')


def test_what_came_is_shown_short_and_printable() -> None:
    with pytest.raises(UnexpectedAnswer) as caught:
        CONFIG_MAPS.check_object(document("Pod\x1b[31m" + "x" * 1000, "v1"))
    assert len(str(caught.value)) < 300
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("data", [b"", b"[]", b"5", b"<html>", b"\xff", b'{"kind":5}'])
def test_what_is_no_object_is_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        CONFIG_MAPS.check_object(data)


@pytest.mark.parametrize(
    ("kind", "name", "namespace"), [("Deployment", "b", "n"), ("Deployment", "a", "m"), ("Job", "a", "n")]
)
def test_another_object_of_our_own_server_is_refused(kind: str, name: str, namespace: str) -> None:
    head = f'{{"apiVersion":"apps/v1","kind":"{kind}","metadata":{{"resourceVersion":"5",'
    data = f'{head}"name":"{name}","namespace":"{namespace}"}}}}'.encode()
    with pytest.raises(UnexpectedAnswer):
        DEPLOYMENTS.check_object(data, name="a", namespace="n")
    DEPLOYMENTS.check_item(memoryview(data.replace(kind.encode(), b"Deployment")))
    DEPLOYMENTS.check_object(f'{head}"name":"a","namespace":"n"}}}}'.encode().replace(kind.encode(), b"Deployment"))
