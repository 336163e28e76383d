"""The manifests of a node's Device API: its server with the NVML provider, and an agent that uses it.

Both are DaemonSets on the nodes with GPUs. They share a socket in a host directory and nothing else. The group of the
directory and of the socket may connect; the agent has it as a supplementary group. The server stores its objects in
another host directory, which only it can read: the conditions of other providers survive a restart of its Pod.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pilotage.cli.manifests.objects import definitions, ports, probes
from pilotage.cli.manifests.settings import EXISTING_NAMESPACES, InstallationSettings
from pilotage.cli.rbac.roles import role_objects
from pilotage.device.client.target import DEFAULT, ENVIRONMENT, Target
from pilotage.meta.documents import Document

GROUP = 5000
SERVER_USER = 65532
AGENT_USER = 65533  # not 65534, which the kernel shows for every uid that a user namespace does not map
DIRECTORY = Target.parse(DEFAULT).path.rpartition("/")[0]
STATE = "/var/lib/nvidia-device-api"
"""The directory of the server's storage."""
NODES = {"nvidia.com/gpu.present": "true"}
METRICS_PORT = 9090
HEALTH_PORT = 8081
SHUTDOWN_SECONDS = 25

_SOCKET = "socket"
_STATE = "state"


@dataclass(frozen=True, slots=True)
class DeviceManifests:
    """The objects, with names and images filled in."""

    name: str = "device-api"
    namespace: str = "device-api"
    image: str = "pilotage:latest"
    agent_image: str = ""
    """If empty, the server's image."""
    agent_command: tuple[str, ...] = ()
    """If empty, `pilotage run` with the program, or the example without one."""
    program: InstallationSettings | None = None
    """The agent's program. None: it is not known, and gets the roles of an agent that taints its Node."""

    def files(self) -> dict[str, list[Document]]:
        """The objects by file name. They can be applied in the order of the names."""
        files = {"10-server.yaml": self.server(), "20-agent.yaml": self.agent()}
        if self.program is not None and (crds := definitions(self.program)):
            files["05-crds.yaml"] = crds
        if self.namespace not in EXISTING_NAMESPACES:
            files["00-namespace.yaml"] = [self.in_namespace()]
        return dict(sorted(files.items()))

    def in_namespace(self) -> Document:
        """The namespace. hostPath volumes need the Pod security level `privileged`."""
        level = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}
        return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace, "labels": level}}

    def server(self) -> list[Document]:
        """The server. It has no RBAC permissions and no service account token."""
        container = {
            "args": [
                *("device", "serve", "--provider=nvml", f"--group={GROUP}", f"--storage=sqlite:{STATE}/gpus.db"),
                *(f"--metrics-bind-address=:{METRICS_PORT}", f"--health-probe-bind-address=:{HEALTH_PORT}"),
                f"--shutdown-grace-period={SHUTDOWN_SECONDS}",
            ],
            "command": ["pilotage"],
            "env": [
                *_environment(),
                {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},  # sees all GPUs without allocating any
                {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "utility"},
            ],
            "image": self.image,
            "livenessProbe": _probe("/livez", period=10, failures=3),
            "name": "server",
            "ports": [
                {"containerPort": METRICS_PORT, "name": "metrics"},
                {"containerPort": HEALTH_PORT, "name": "health"},
            ],
            "readinessProbe": _probe("/readyz", period=5, failures=2),
            "resources": _resources(cpu="100m", memory="128Mi", most="512Mi"),
            "securityContext": _confined(),
            "volumeMounts": list(_SERVER_MOUNTS),
        }
        token = {"automountServiceAccountToken": False}
        pod = {
            "containers": [container],
            "initContainers": [self._directories()],
            "runtimeClassName": "nvidia",
            "volumes": [_host_path(_STATE, STATE)],
            **token,
        }
        return [self._object("v1", "ServiceAccount", "server", **token), self._daemon_set("server", pod, SERVER_USER)]

    def agent(self) -> list[Document]:
        """The agent, and the roles of its program."""
        command: Document = {"command": list(self.agent_command or ("python", "/agent/gpu_agent.py"))}
        if self.program is not None:
            run = {"command": ["pilotage", "run"], "args": self.program.arguments}
            command = {**(command if self.agent_command else run), "ports": ports(self.program), **probes(self.program)}
        container = {
            **command,
            "env": _environment(),
            "image": self.agent_image or self.image,
            "name": "agent",
            "resources": _resources(cpu="50m", memory="96Mi", most="256Mi"),
            "securityContext": _confined(),
            "volumeMounts": [
                {"mountPath": DIRECTORY, "name": _SOCKET, "readOnly": True},
                {"mountPath": "/tmp", "name": "tmp"},  # noqa: S108 - a volume of the Pod
            ],
        }
        pod: Document = {"containers": [container], "volumes": [{"name": "tmp", "emptyDir": {}}]}
        account = self._object("v1", "ServiceAccount", "agent")
        return [account, *self._roles(), self._daemon_set("agent", pod, AGENT_USER)]

    def _roles(self) -> list[Document]:
        """The roles of the program, or those to read and patch Nodes and to record Events."""
        if self.program is not None:
            installation = replace(self.program.installation, name=f"{self.name}-agent")
            found = role_objects(self.program.grants, installation)
            return [each | {"metadata": {**each["metadata"], "labels": self._labels("agent")}} for each in found]
        group = "rbac.authorization.k8s.io"
        needed = {"nodes": ["get", "list", "watch", "patch"], "nodes/status": ["patch"], "events": ["create", "patch"]}
        rules = [{"apiGroups": [""], "resources": [name], "verbs": verbs} for name, verbs in needed.items()]
        role = self._object(f"{group}/v1", "ClusterRole", "agent", namespaced=False, rules=rules)
        binding = self._object(
            f"{group}/v1",
            "ClusterRoleBinding",
            "agent",
            namespaced=False,
            roleRef={"apiGroup": group, "kind": "ClusterRole", "name": role["metadata"]["name"]},
            subjects=[{"kind": "ServiceAccount", "name": f"{self.name}-agent", "namespace": self.namespace}],
        )
        return [role, binding]

    def _object(
        self, version: str, kind: str, component: str, *, namespaced: bool = True, **content: object
    ) -> Document:
        """A cluster-scoped name contains the namespace, so that two installations do not collide."""
        name = f"{self.name}-{component}"
        key = {"name": name, "namespace": self.namespace} if namespaced else {"name": f"{self.namespace}-{name}"}
        metadata = {**key, "labels": self._labels(component)}
        return {"apiVersion": version, "kind": kind, "metadata": metadata, **content}

    def _labels(self, component: str) -> dict[str, str]:
        return {"app.kubernetes.io/name": self.name, "app.kubernetes.io/component": component}

    def _directories(self) -> Document:
        """Sets the owner of the directories, which the kubelet creates as root. Only this container runs as root."""
        owner = f"-o {SERVER_USER} -g {GROUP}"
        commands = (f"install -d -m 0750 {owner} {DIRECTORY}", f"install -d -m 0700 {owner} {STATE}")
        return {
            "command": ["sh", "-c", " && ".join(commands)],
            "image": self.image,
            "name": "directories",
            "resources": _resources(cpu="10m", memory="16Mi", most="64Mi"),
            "securityContext": {**_confined("CHOWN", "FOWNER"), "runAsNonRoot": False, "runAsUser": 0},
            "volumeMounts": list(_SERVER_MOUNTS),
        }

    def _daemon_set(self, component: str, pod: Document, user: int) -> Document:
        pod |= {
            "nodeSelector": dict(NODES),
            "priorityClassName": "system-node-critical",
            "securityContext": {
                "runAsGroup": GROUP if component == "server" else user,
                "runAsNonRoot": True,
                "runAsUser": user,
                "seccompProfile": {"type": "RuntimeDefault"},
                "supplementalGroups": [GROUP],
            },
            "serviceAccountName": f"{self.name}-{component}",
            "terminationGracePeriodSeconds": SHUTDOWN_SECONDS + 10,
            "tolerations": [{"operator": "Exists"}],  # tainted nodes need the agent most
            "volumes": [_host_path(_SOCKET, DIRECTORY), *pod.get("volumes", [])],
        }
        spec = {
            "selector": {"matchLabels": self._labels(component)},
            "template": {"metadata": {"labels": self._labels(component)}, "spec": dict(sorted(pod.items()))},
            "updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}, "type": "RollingUpdate"},
        }
        return self._object("apps/v1", "DaemonSet", component, spec=spec)


_SERVER_MOUNTS = ({"mountPath": DIRECTORY, "name": _SOCKET}, {"mountPath": STATE, "name": _STATE})


def _host_path(name: str, path: str) -> Document:
    return {"hostPath": {"path": path, "type": "DirectoryOrCreate"}, "name": name}


def _environment() -> list[Document]:
    """The address of the Device API, and the name of the node."""
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    return [{"name": ENVIRONMENT, "value": DEFAULT}, node]


def _probe(path: str, *, period: int, failures: int) -> Document:
    return {"failureThreshold": failures, "httpGet": {"path": path, "port": "health"}, "periodSeconds": period}


def _resources(*, cpu: str, memory: str, most: str) -> Document:
    """No CPU limit: a throttled server would miss its probes like an unhealthy one."""
    return {"limits": {"memory": most}, "requests": {"cpu": cpu, "memory": memory}}


def _confined(*added: str) -> Document:
    capabilities = {**({"add": list(added)} if added else {}), "drop": ["ALL"]}
    return {"allowPrivilegeEscalation": False, "capabilities": capabilities, "readOnlyRootFilesystem": True}
