from __future__ import annotations

from typing import Any

import pytest

from ..writes import created, fields, status_written, strategy_of, updated

STRATEGY = strategy_of("ingresses.networking.k8s.io")
SERVICE = {"service": {"name": "s", "port": {"number": 80}}}


def route(**more: Any) -> dict[str, Any]:
    path = {"path": "/", "pathType": "Prefix", "backend": SERVICE} | more
    return {"rules": [{"host": "example.com", "http": {"paths": [path]}}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (route(), []),
        ({}, ["spec"]),
        ({"defaultBackend": {}}, ["spec.defaultBackend"]),
        ({"defaultBackend": SERVICE | {"resource": {}}}, ["spec.defaultBackend"]),
        ({"defaultBackend": {"service": {"name": "s"}}}, ["spec.defaultBackend"]),
        ({"defaultBackend": {"service": {"name": "s", "port": {"name": "a", "number": 1}}}}, ["spec.defaultBackend"]),
        ({"defaultBackend": {"resource": {"kind": "a/b"}}}, ["kind", "name"]),
        (route(path="x"), ["spec.rules[0].http.paths[0].path"]),
        (route(path="", pathType="ImplementationSpecific"), []),
        (route(path="/a//b/.."), ["spec.rules[0].http.paths[0].path"] * 2),
        (route(pathType="Some"), ["spec.rules[0].http.paths[0].pathType"]),
        (route(pathType=None), ["spec.rules[0].http.paths[0].pathType"]),
        ({"rules": [{"host": "*.example.com"}]}, []),
        ({"rules": [{"host": "a.*.com"}]}, ["spec.rules[0].host"]),
        ({"rules": [{"host": "1.2.3.4"}]}, ["spec.rules[0].host"]),
        ({"rules": [{"http": {}}]}, ["spec.rules[0].http.paths"]),
        (route() | {"tls": [{"hosts": ["A"], "secretName": "B"}]}, ["spec.tls[0].hosts[0]", "spec.tls[0].secretName"]),
        (route() | {"ingressClassName": ""}, ["spec.ingressClassName"]),
    ],
)
def test_rules_over_the_spec(spec: dict[str, Any], expected: list[str]) -> None:
    _, causes = created(STRATEGY, spec=spec)
    assert len(causes) == len(expected)
    assert all(field.endswith(name) for field, name in zip(fields(causes), expected, strict=True))


def test_the_class_in_an_annotation_is_the_class_in_the_spec() -> None:
    metadata = {"name": "one", "namespace": "n", "annotations": {"kubernetes.io/ingress.class": "a"}}
    document, causes = created(STRATEGY, metadata=metadata, spec=route())
    assert not causes
    assert STRATEGY.warnings(document, None) == [
        "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead"
    ]
    _, causes = created(STRATEGY, metadata=metadata, spec=route() | {"ingressClassName": "b"})
    assert fields(causes) == ["annotations.kubernetes.io/ingress.class"]


def test_a_secret_with_an_old_name_can_stay() -> None:
    old, _ = created(STRATEGY, spec=route())
    old["spec"]["tls"] = [{"secretName": "Old"}]
    _, causes = updated(STRATEGY, old, spec=old["spec"] | {"ingressClassName": "a"})
    assert not causes


def test_the_status_has_addresses_and_names() -> None:
    old, _ = created(STRATEGY, spec=route())
    ingress = [{"ip": "1.2.3.4"}, {"ip": "x"}, {"hostname": "1.2.3.4"}]
    _, causes = status_written(STRATEGY, old, status={"loadBalancer": {"ingress": ingress}})
    assert fields(causes) == ["status.loadBalancer.ingress[1].ip", "status.loadBalancer.ingress[2].hostname"]
