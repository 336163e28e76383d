from __future__ import annotations

from typing import Any

import pytest

from pilotage.kubernetes.core.pods.spec import validate_pod_template
from pilotage.meta.documents import Document

from .specs import STRATEGY, container, found, pod

SIDECAR = container(name="side", restartPolicy="Always", livenessProbe={"exec": {"command": ["true"]}})


def test_a_small_pod_is_valid() -> None:
    assert found(pod()) == []
    assert found(pod(initContainers=[SIDECAR])) == []


@pytest.mark.parametrize(
    ("fields", "causes"),
    [
        ({"containers": []}, [("Required", "spec.containers")]),
        ({"restartPolicy": "Sometimes"}, [("NotSupported", "spec.restartPolicy")]),
        ({"dnsPolicy": "None"}, [("Required", "spec.dnsConfig")]),
        ({"activeDeadlineSeconds": 0}, [("Invalid", "spec.activeDeadlineSeconds")]),
        ({"nodeSelector": {"a": "b c"}}, [("Invalid", "spec.nodeSelector")]),
        ({"hostname": "a.b"}, [("Invalid", "spec.hostname")]),
        ({"hostnameOverride": "a", "hostNetwork": True}, [("Forbidden", "spec.hostnameOverride")]),
        ({"preemptionPolicy": ""}, [("Required", "spec.preemptionPolicy")]),
        ({"os": {"name": "plan9"}}, [("NotSupported", "spec.os")]),
        ({"os": {"name": "windows"}, "hostPID": True}, [("Forbidden", "spec.hostPID")]),
        ({"hostUsers": False, "hostPID": True}, [("Forbidden", "spec.HostPID")]),
        ({"ephemeralContainers": [container(name="e")]}, [("Forbidden", "spec.ephemeralContainers")]),
        ({"nodeName": "n", "schedulingGates": [{"name": "g"}]}, [("Forbidden", "spec.nodeName")]),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
            [("Invalid", "spec.tolerations[0].operator")],
        ),
        ({"overhead": {"memory": "-1"}}, [("Invalid", "spec.overhead.limits[memory]")]),
        ({"resourceClaims": [{"name": "a"}]}, [("Invalid", "spec.resourceClaims[0]")]),
        (
            {"resourceClaims": [{"resourceClaimName": "a"}, {"resourceClaimName": "b"}]},
            [("Required", "spec.resourceClaims[0].name"), ("Required", "spec.resourceClaims[1].name")],
        ),
        (
            {"initContainers": [container(name="main", lifecycle={})]},
            [("Duplicate", "spec.initContainers[0].name"), ("Forbidden", "spec.initContainers[0].lifecycle")],
        ),
        (
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
                ]
                * 2
            },
            [("Duplicate", "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}")],
        ),
    ],
)
def test_the_spec_of_a_pod_is_checked(fields: dict[str, Any], causes: list[tuple[str, str]]) -> None:
    document = pod()
    document["spec"] |= fields
    for each in document["spec"].get("initContainers") or document["spec"].get("ephemeralContainers") or ():
        each |= {"terminationMessagePolicy": "File", "imagePullPolicy": "Always"}
    assert found(document) == causes


@pytest.mark.parametrize(
    ("fields", "causes"),
    [
        ({"name": ""}, [("Required", "name")]),
        ({"image": " a"}, [("Invalid", "image")]),
        ({"ports": [{"containerPort": 0}]}, [("Required", "ports[0].containerPort")]),
        ({"ports": [{"containerPort": 1, "hostPort": 2}] * 2}, [("Duplicate", "ports[1].hostPort")]),
        ({"env": [{"name": "a=b"}]}, [("Invalid", "env[0].name")]),
        ({"env": [{"name": "a", "valueFrom": {}}]}, [("Invalid", "env[0].valueFrom")]),
        (
            {"env": [{"name": "a", "valueFrom": {"fieldRef": {"fieldPath": "status.phase"}}}]},
            [("NotSupported", "env[0].valueFrom.fieldRef.fieldPath")],
        ),
        (
            {"env": [{"name": "a", "valueFrom": {"fileKeyRef": {"key": "k", "path": "p", "volumeName": "v"}}}]},
            [("NotFound", "env[0].valueFrom.fileKeyRef.volumeName")],
        ),
        ({"envFrom": [{}]}, [("Invalid", "envFrom")]),
        ({"volumeMounts": [{"name": "v", "mountPath": "/"}]}, [("NotFound", "volumeMounts[0].name")]),
        ({"livenessProbe": {}}, [("Required", "livenessProbe")]),
        ({"readinessProbe": {"tcpSocket": {"port": 0}}}, [("Invalid", "readinessProbe.tcpSocket.port")]),
        ({"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}}, [("Invalid", "lifecycle.preStop.sleep")]),
        (
            {"resources": {"limits": {"gpu": "1"}}},
            [("Invalid", "resources.limits[gpu]")] * 2 + [("Invalid", "resources.requests[gpu]")] * 2,
        ),
        (
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
            [("Invalid", "resources.requests")],
        ),
        ({"resources": {"claims": [{"name": "c"}]}}, [("NotFound", "resources.claims[0]")]),
        ({"securityContext": {"runAsUser": -1}}, [("Invalid", "securityContext.runAsUser")]),
        (
            {"securityContext": {"allowPrivilegeEscalation": False, "privileged": True}},
            [("Invalid", "securityContext")],
        ),
        (
            {"restartPolicyRules": [{"action": "Restart"}]},
            [("Required", "restartPolicy"), ("Required", "restartPolicyRules[0].exitCodes")],
        ),
    ],
)
def test_a_container_is_checked(fields: dict[str, Any], causes: list[tuple[str, str]]) -> None:
    assert found(pod(container(**fields))) == [(reason, f"spec.containers[0].{field}") for reason, field in causes]


@pytest.mark.parametrize(
    ("source", "causes"),
    [
        ({"emptyDir": {}, "hostPath": {"path": "/"}}, [("Forbidden", "hostPath")]),
        ({"hostPath": {"path": "/a/../b"}}, [("Invalid", "hostPath.path")]),
        (
            {"secret": {"items": [{"key": "k", "path": "/p"}]}},
            [("Required", "secret.secretName"), ("Invalid", "secret.items[0].path")],
        ),
        ({"iscsi": {"targetPortal": "t", "iqn": "x"}}, [("Invalid", "iscsi.iqn")]),
        ({"nfs": {"server": "s", "path": "p"}}, [("Invalid", "nfs.path")]),
        ({"csi": {"driver": "A" * 64}}, [("TooLong", "csi.driver")]),
        ({"ephemeral": {}}, [("Required", "ephemeral.volumeClaimTemplate")]),
        (
            {"ephemeral": {"volumeClaimTemplate": {"metadata": {"uid": "u"}, "spec": {}}}},
            [
                ("Forbidden", "ephemeral.volumeClaimTemplate.metadata.uID"),
                ("Required", "ephemeral.volumeClaimTemplate.spec.accessModes"),
                ("Required", "ephemeral.volumeClaimTemplate.spec.resources[storage]"),
            ],
        ),
        (
            {"projected": {"sources": [{"secret": {"name": "s", "items": [{"key": "k", "path": "p"}] * 2}}]}},
            [("Invalid", "projected")],
        ),
    ],
)
def test_a_volume_is_checked(source: Document, causes: list[tuple[str, str]]) -> None:
    document = pod(volumes=[{"name": "v"} | source])
    assert found(document) == [(reason, f"spec.volumes[0].{field}") for reason, field in causes]


def test_a_template_differs_from_a_pod_in_its_paths_and_its_images() -> None:
    template = {
        "metadata": {"labels": {"a": "b c"}},
        "spec": pod(container(image=" spaces "), ephemeralContainers=[container(name="e")])["spec"],
    }
    assert [cause.field for cause in validate_pod_template(template, "spec.template")] == [
        "spec.template.labels",
        "spec.template.spec.ephemeralContainers",
    ]


@pytest.mark.parametrize(
    "hostile",
    [
        {"containers": [container(env=[{"name": "a" * 100_000}] * 10)]},
        {"containers": [container(ports=[{"containerPort": 1}] * 10_000)]},
        {"volumes": [{"name": "v"}] * 5_000},
        {"tolerations": [{}] * 5_000},
        {"securityContext": {"sysctls": [{"name": "a." * 50_000}]}},
        {"dnsConfig": {"searches": ["a-" * 50_000]}},
        {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{}] * 5_000}}},
        {"containers": [container(resources={"claims": [{"name": f"c{index}"} for index in range(20_000)]})]},
        {
            "containers": [
                container(
                    volumeMounts=[{"name": f"m{index}", "mountPath": f"/m{index}"} for index in range(20_000)],
                    volumeDevices=[{"name": f"d{index}", "devicePath": f"/d{index}"} for index in range(20_000)],
                )
            ]
        },
        {
            "volumes": [
                {"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": f"p{index}"}]}}
                for index in range(20_000)
            ]
        },
    ],
)
def test_a_large_spec_is_checked_in_time_proportional_to_its_size(hostile: Document) -> None:
    document = pod()
    document["spec"] |= hostile
    assert len(STRATEGY.warnings(document, None)) <= 200
    assert len(found(document)) <= 80_000
