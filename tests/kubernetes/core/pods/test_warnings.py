from __future__ import annotations

from typing import Any

import pytest

from pilotage.kubernetes.core.pods.warnings import pod_warnings, template_warnings

from .specs import container, pod


@pytest.mark.parametrize(
    ("fields", "warning"),
    [
        ({"nodeSelector": {"beta.kubernetes.io/os": "linux"}}, "spec.nodeSelector[beta.kubernetes.io/os]: deprecated"),
        ({"volumes": [{"name": "v", "rbd": {}}]}, "spec.volumes[0].rbd: deprecated in v1.28"),
        ({"imagePullSecrets": [{}]}, 'spec.imagePullSecrets[0].name: invalid empty name ""'),
        ({"hostAliases": [{"ip": "::1"}, {"ip": "::1"}]}, 'spec.hostAliases[1].ip: duplicate ip "::1"'),
        ({"overhead": {"memory": "1m"}}, 'spec.overhead[memory]: fractional byte value "1m"'),
        ({"dnsConfig": {"nameservers": ["FE80::1"]}}, "spec.dnsConfig.nameservers[0]: IPv6 address"),
        (
            {"volumes": [{"name": "v", "configMap": {"name": "c", "items": [{"path": "a"}, {"path": "a/b"}]}}]},
            'volume "v" (ConfigMap "c"): overlapping paths: "a/b" with "a"',
        ),
    ],
)
def test_a_pod_is_warned_about(fields: dict[str, Any], warning: str) -> None:
    (found,) = pod_warnings(pod(**fields))
    assert found.startswith(warning)


def test_ports_and_variables_that_hide_others_are_reported() -> None:
    document = pod(
        container(
            ports=[{"name": "a", "containerPort": 80}, {"name": "a", "containerPort": 80, "hostIP": "10.0.0.1"}],
            env=[{"name": "A", "value": "1"}, {"name": "A", "value": "$(A) 2"}, {"name": "A", "value": "3"}],
        )
    )
    first, second = "spec.containers[0].ports[0]", "spec.containers[0].ports[1]"
    named = f'duplicate port name "a" with {first}, services and probes that select ports by name will use {first}'
    assert list(pod_warnings(document)) == [
        'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply',
        f"{second}: hostIP set without hostPort: {{Name:a HostPort:0 ContainerPort:80 Protocol:TCP HostIP:10.0.0.1}}",
        f"{second}: overlapping port definition with {first}",
        f"{second}: {named}",
    ]


def test_the_paths_of_a_template_begin_with_it() -> None:
    template = {"spec": pod(volumes=[{"name": "v", "gitRepo": {"repository": "r"}}])["spec"]}
    (found,) = template_warnings(template, "spec.template")
    assert found.startswith("spec.template.spec.volumes[0].gitRepo: deprecated")


def test_the_name_of_a_pod_should_be_a_host_name() -> None:
    document = pod()
    document["metadata"]["name"] = "a.b"
    (found,) = pod_warnings(document)
    assert found.endswith("a DNS label is recommended: [must not contain dots]")
