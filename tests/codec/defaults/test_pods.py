from __future__ import annotations

import pytest

from pilotage.codec.defaults.pods import default_pod, default_pod_template
from pilotage.meta.documents import Document, copied
from tests.kubernetes.core.pods.specs import container, pod, spec


def test_a_pod_gets_policies_and_an_empty_security_context() -> None:
    assert pod()["spec"] == {
        "containers": [
            {
                "name": "main",
                "image": "nginx:1",
                "imagePullPolicy": "IfNotPresent",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }
        ],
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


def test_defaults_do_not_change_when_they_are_applied_again() -> None:
    document = pod(
        container(livenessProbe={"httpGet": {"port": 80}}, resources={"limits": {"cpu": "1"}}),
        volumes=[{"name": "a"}, {"name": "b", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}],
        resources={"limits": {"cpu": "2"}},
    )
    again = copied(document)
    default_pod(again)
    assert again == document


def test_a_template_gets_fewer_defaults_than_a_pod() -> None:
    limited = container(resources={"limits": {"cpu": "1"}}, ports=[{"containerPort": 80}])
    template: Document = {"spec": spec(limited, hostNetwork=True)}
    default_pod_template(template)
    assert "enableServiceLinks" not in template["spec"]
    assert template["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}
    assert template["spec"]["containers"][0]["ports"] == [{"containerPort": 80, "protocol": "TCP"}]


def test_requests_are_the_limits_unless_they_are_given() -> None:
    resources = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}
    found = pod(container(resources=resources))["spec"]["containers"][0]["resources"]
    assert found["requests"] == {"cpu": "500m", "memory": "1Gi"}


def test_ports_on_the_network_of_the_node_are_ports_of_the_node() -> None:
    document = pod(container(ports=[{"containerPort": 80}, {"containerPort": 81, "hostPort": 82}]), hostNetwork=True)
    assert [port["hostPort"] for port in document["spec"]["containers"][0]["ports"]] == [80, 82]


def test_amounts_finer_than_thousandths_are_rounded_up() -> None:
    document = pod(container(resources={"requests": {"cpu": "1n", "memory": "2500u"}}))
    assert document["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "1m", "memory": "3m"}


def test_a_pod_with_limits_of_its_own_requests_what_its_containers_do() -> None:
    document = pod(
        container(resources={"requests": {"cpu": "1"}}),
        container(name="second", resources={"requests": {"cpu": "500m"}}),
        initContainers=[container(name="first", resources={"requests": {"cpu": "3", "memory": "1Gi"}})],
        resources={"limits": {"cpu": "4", "memory": "2Gi"}},
    )
    assert document["spec"]["resources"]["requests"] == {"cpu": "3", "memory": "1Gi"}


@pytest.mark.parametrize(
    ("volume", "source"),
    [
        ({}, {"emptyDir": {}}),
        ({"secret": {"secretName": "s"}}, {"secret": {"secretName": "s", "defaultMode": 420}}),
        ({"hostPath": {"path": "/"}}, {"hostPath": {"path": "/", "type": ""}}),
        ({"image": {"reference": "a"}}, {"image": {"reference": "a", "pullPolicy": "Always"}}),
        (
            {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            {
                "downwardAPI": {
                    "items": [{"path": "p", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}],
                    "defaultMode": 420,
                }
            },
        ),
    ],
)
def test_each_kind_of_volume_has_defaults(volume: Document, source: Document) -> None:
    assert pod(volumes=[{"name": "v"} | volume])["spec"]["volumes"] == [{"name": "v"} | source]


def test_the_old_name_of_the_service_account_is_kept_in_step() -> None:
    for name in ("serviceAccount", "serviceAccountName"):
        document = pod(**{name: "robot"})
        assert document["spec"]["serviceAccount"] == document["spec"]["serviceAccountName"] == "robot"


def test_a_negative_grace_period_of_a_pod_is_one() -> None:
    assert pod(terminationGracePeriodSeconds=-5)["spec"]["terminationGracePeriodSeconds"] == 1
    template: Document = {"spec": spec(terminationGracePeriodSeconds=-5)}
    default_pod_template(template)
    assert template["spec"]["terminationGracePeriodSeconds"] == -5


def test_annotations_that_were_init_containers_are_dropped() -> None:
    template: Document = {"metadata": {"annotations": {"pod.beta.kubernetes.io/init-containers": "[]"}}, "spec": spec()}
    default_pod_template(template)
    assert template["metadata"] == {}


def test_amounts_in_the_status_are_rounded_as_those_of_the_spec() -> None:
    document = {"status": {"containerStatuses": [{"allocatedResources": {"cpu": "500u"}}]}} | pod()
    default_pod(document)
    assert document["status"]["containerStatuses"] == [{"allocatedResources": {"cpu": "1m"}}]
