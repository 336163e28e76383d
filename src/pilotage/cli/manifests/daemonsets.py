"""The manifests of a node's Device API: its server with the NVML provider, and an agent that uses it.

Both are DaemonSets on the nodes with GPUs. They share a socket in a host directory and nothing else. The group of the
directory and of the socket may connect; the agent has it as a supplementary group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pilotage.cli.manifests.settings import EXISTING_NAMESPACES
from pilotage.device.client.target import DEFAULT, ENVIRONMENT, Target
from pilotage.meta.models import ObjectMeta, Resource
from pilotage.meta.scalars.quantity import Quantity
from pilotage.types.apps.v1 import DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, RollingUpdateDaemonSet
from pilotage.types.core.v1 import (
    Capabilities,
    Container,
    ContainerPort,
    EnvVar,
    EnvVarSource,
    HostPathVolumeSource,
    HTTPGetAction,
    Namespace,
    ObjectFieldSelector,
    PodSecurityContext,
    PodSpec,
    PodTemplateSpec,
    Probe,
    ResourceRequirements,
    SeccompProfile,
    SecurityContext,
    ServiceAccount,
    Toleration,
    Volume,
    VolumeMount,
)
from pilotage.types.meta.v1 import LabelSelector
from pilotage.types.rbac.v1 import ClusterRole, ClusterRoleBinding, PolicyRule, RoleRef, Subject

GROUP = 5000
SERVER_USER = 65532
AGENT_USER = 65533  # not 65534, which the kernel shows for every uid that a user namespace does not map
DIRECTORY = Target.parse(DEFAULT).path.rpartition("/")[0]
NODES = {"nvidia.com/gpu.present": "true"}
METRICS_PORT = 9090
HEALTH_PORT = 8081
SHUTDOWN_SECONDS = 25

_SOCKET = "socket"


@dataclass(frozen=True, slots=True)
class DeviceManifests:
    """The objects, with names and images filled in."""

    name: str = "device-api"
    namespace: str = "device-api"
    image: str = "pilotage:latest"
    agent_image: str = ""
    """If empty, the server's image."""
    agent_command: tuple[str, ...] = ("python", "/agent/gpu_agent.py")

    def files(self) -> dict[str, list[Resource]]:
        """The objects by file name. They can be applied in the order of the names."""
        files: dict[str, list[Resource]] = {"10-server.yaml": self.server(), "20-agent.yaml": self.agent()}
        if self.namespace not in EXISTING_NAMESPACES:
            files["00-namespace.yaml"] = [self.in_namespace()]
        return dict(sorted(files.items()))

    def in_namespace(self) -> Namespace:
        """The namespace. hostPath volumes need the Pod security level `privileged`."""
        level = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}
        return Namespace(metadata=ObjectMeta(name=self.namespace, labels=level))

    def server(self) -> list[Resource]:
        """The server. It has no RBAC permissions and no service account token."""
        account = ServiceAccount(metadata=self._metadata("server"), automount_service_account_token=False)
        container = Container(
            name="server",
            image=self.image,
            command=["pilotage"],
            args=[
                *("device", "serve", "--provider=nvml", f"--group={GROUP}"),
                *(f"--metrics-bind-address=:{METRICS_PORT}", f"--health-probe-bind-address=:{HEALTH_PORT}"),
                f"--shutdown-grace-period={SHUTDOWN_SECONDS}",
            ],
            env=[
                EnvVar(name=ENVIRONMENT, value=DEFAULT),
                _node_name(),
                EnvVar(name="NVIDIA_VISIBLE_DEVICES", value="all"),  # sees all GPUs without allocating any
                EnvVar(name="NVIDIA_DRIVER_CAPABILITIES", value="utility"),
            ],
            ports=[
                ContainerPort(name="metrics", container_port=METRICS_PORT),
                ContainerPort(name="health", container_port=HEALTH_PORT),
            ],
            liveness_probe=_probe("/livez", period=10, failures=3),
            readiness_probe=_probe("/readyz", period=5, failures=2),
            resources=_resources(cpu="100m", memory="128Mi", most="512Mi"),
            security_context=_confined(),
            volume_mounts=[VolumeMount(name=_SOCKET, mount_path=DIRECTORY)],
        )
        pod = PodSpec(
            init_containers=[self._directory()],
            containers=[container],
            runtime_class_name="nvidia",
            automount_service_account_token=False,
        )
        return [account, self._daemon_set("server", pod, SERVER_USER)]

    def agent(self) -> list[Resource]:
        """The agent and its RBAC: read and patch Nodes, and record Events."""
        role = ClusterRole(
            metadata=self._metadata("agent", namespaced=False),
            rules=[
                PolicyRule(api_groups=[""], resources=["nodes"], verbs=["get", "list", "watch", "patch"]),
                PolicyRule(api_groups=[""], resources=["nodes/status"], verbs=["patch"]),
                PolicyRule(api_groups=[""], resources=["events"], verbs=["create", "patch"]),
            ],
        )
        binding = ClusterRoleBinding(
            metadata=self._metadata("agent", namespaced=False),
            role_ref=RoleRef(api_group="rbac.authorization.k8s.io", kind="ClusterRole", name=role.metadata.name),
            subjects=[Subject(kind="ServiceAccount", name=f"{self.name}-agent", namespace=self.namespace)],
        )
        container = Container(
            name="agent",
            image=self.agent_image or self.image,
            command=list(self.agent_command),
            env=[EnvVar(name=ENVIRONMENT, value=DEFAULT), _node_name()],
            resources=_resources(cpu="50m", memory="96Mi", most="256Mi"),
            security_context=_confined(),
            volume_mounts=[VolumeMount(name=_SOCKET, mount_path=DIRECTORY, read_only=True)],
        )
        pod = PodSpec(containers=[container])
        account = ServiceAccount(metadata=self._metadata("agent"))
        return [account, role, binding, self._daemon_set("agent", pod, AGENT_USER)]

    def _metadata(self, component: str, *, namespaced: bool = True) -> ObjectMeta:
        """A cluster-scoped name contains the namespace, so that two installations do not collide."""
        name = f"{self.name}-{component}" if namespaced else f"{self.namespace}-{self.name}-{component}"
        namespace = self.namespace if namespaced else ""
        return ObjectMeta(name=name, namespace=namespace, labels=self._labels(component))

    def _labels(self, component: str) -> dict[str, str]:
        return {"app.kubernetes.io/name": self.name, "app.kubernetes.io/component": component}

    def _directory(self) -> Container:
        """Sets the owner of the directory, which the kubelet creates as root. Only this container runs as root."""
        owner = ("-o", str(SERVER_USER), "-g", str(GROUP))
        return Container(
            name="directory",
            image=self.image,
            command=["install", "-d", "-m", "0750", *owner, DIRECTORY],
            resources=_resources(cpu="10m", memory="16Mi", most="64Mi"),
            security_context=SecurityContext(
                run_as_user=0,
                run_as_non_root=False,
                allow_privilege_escalation=False,
                read_only_root_filesystem=True,
                capabilities=Capabilities(drop=["ALL"], add=["CHOWN", "FOWNER"]),
            ),
            volume_mounts=[VolumeMount(name=_SOCKET, mount_path=DIRECTORY)],
        )

    def _daemon_set(self, component: str, pod: PodSpec, user: int) -> DaemonSet:
        pod.service_account_name = f"{self.name}-{component}"
        pod.node_selector = dict(NODES)
        pod.tolerations = [Toleration(operator="Exists")]  # tainted nodes need the agent most
        pod.priority_class_name = "system-node-critical"
        pod.termination_grace_period_seconds = SHUTDOWN_SECONDS + 10
        pod.volumes = [
            Volume(name=_SOCKET, host_path=HostPathVolumeSource(path=DIRECTORY, type="DirectoryOrCreate")),
        ]
        pod.security_context = PodSecurityContext(
            run_as_user=user,
            run_as_group=GROUP if component == "server" else user,
            run_as_non_root=True,
            supplemental_groups=[GROUP],
            seccomp_profile=SeccompProfile(type="RuntimeDefault"),
        )
        labels = self._labels(component)
        return DaemonSet(
            metadata=self._metadata(component),
            spec=DaemonSetSpec(
                selector=LabelSelector(match_labels=labels),
                template=PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=pod),
                update_strategy=DaemonSetUpdateStrategy(
                    type="RollingUpdate", rolling_update=RollingUpdateDaemonSet(max_unavailable=1)
                ),
            ),
        )


def documents(objects: Sequence[Resource]) -> str:
    """Objects as the text of one YAML file."""
    from pilotage.meta.objects import document_of
    from pilotage.meta.text import yamltext

    return yamltext.write_all([document_of(obj) for obj in objects])


def _node_name() -> EnvVar:
    return EnvVar(name="NODE_NAME", value_from=EnvVarSource(field_ref=ObjectFieldSelector(field_path="spec.nodeName")))


def _probe(path: str, *, period: int, failures: int) -> Probe:
    return Probe(http_get=HTTPGetAction(path=path, port="health"), period_seconds=period, failure_threshold=failures)


def _resources(*, cpu: str, memory: str, most: str) -> ResourceRequirements:
    """No CPU limit: a throttled server would miss its probes like an unhealthy one."""
    requests = {"cpu": Quantity(cpu), "memory": Quantity(memory)}
    return ResourceRequirements(requests=requests, limits={"memory": Quantity(most)})


def _confined() -> SecurityContext:
    return SecurityContext(
        allow_privilege_escalation=False,
        read_only_root_filesystem=True,
        capabilities=Capabilities(drop=["ALL"]),
    )
