"""The manifests as a Helm chart. With its default values it renders the plain manifests, without the Namespace."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pilotage.cli.manifests import objects
from pilotage.cli.manifests.settings import InstallationSettings, split_image
from pilotage.cli.manifests.templates import Templates, when
from pilotage.cli.rbac.grants import LEADER_ELECTION, MANAGER, WEBHOOK, lease_grants
from pilotage.cli.rbac.roles import role_objects
from pilotage.meta.documents import Document
from pilotage.meta.text import yamltext
from pilotage.webhook.manifests import CERTIFICATE

_CERT_MANAGER = "$.Values.webhooks.certManager.enabled"
_KEEP = "helm.sh/resource-policy: keep"


def files(settings: InstallationSettings) -> dict[str, str]:
    """The files of the chart."""
    chart = _Chart(settings)
    templates = {
        "crds": chart.definitions(),
        "service-account": chart.service_account(),
        "rbac": chart.roles(),
        "services": chart.services(),
        "deployment": chart.deployment(),
        "network-policy": chart.network_policy(),
        "webhooks": chart.webhooks(),
        "service-monitor": chart.service_monitor(),
        "pod-disruption-budget": when("$.Values.podDisruptionBudget.enabled", chart.budget()),
    }
    found = {f"chart/templates/{name}.yaml": text for name, text in templates.items() if text}
    about = {"apiVersion": "v2", "name": settings.name, "type": "application", "version": "0.1.0"}
    description = f"The operator {settings.name} and what it needs on a cluster."
    found["chart/Chart.yaml"] = yamltext.write({**about, "description": description})
    found["chart/values.yaml"] = values(settings)
    return dict(sorted(found.items()))


def values(settings: InstallationSettings) -> str:
    """The default values, each with a comment."""
    image, tag = split_image(settings.image)
    installation = settings.installation
    pod = objects.deployment(settings)["spec"]["template"]["spec"]
    election = {"enabled": installation.leader_election, "id": installation.lease_name}
    monitor = {"enabled": False, "labels": {}}
    parts: list[tuple[str, dict[str, Any]]] = [
        ("The image of the program.", {"image": {"repository": image, "tag": tag, "pullPolicy": "IfNotPresent"}}),
        ("Names of Secrets with credentials of the registry: - name: registry", {"imagePullSecrets": []}),
        ("With more than one, only the leader works, and the others wait to replace it.", {"replicas": 1}),
        ("No CPU limit: a throttled process would miss its probes.", {"resources": pod["containers"][0]["resources"]}),
        (
            "The namespaces that the program works in, with a Role in each; empty: all, with a ClusterRole.",
            {"namespaces": list(installation.namespaces)},
        ),
        (
            "Whether the CRDs are part of the release, and whether they stay, with all objects, when it is removed.",
            {"crds": {"install": True, "keep": True}},
        ),
        ("The Lease by which replicas elect a leader.", {"leaderElection": election}),
        (
            "Metrics, and a ServiceMonitor for the Prometheus operator.",
            {"metrics": {"enabled": True, "port": settings.metrics_port, "serviceMonitor": monitor}},
        ),
        (
            "Webhooks. The program makes their certificate and injects its bundle, unless cert-manager does both.",
            {"webhooks": {"enabled": True, "certManager": {"enabled": False}}},
        ),
        (
            "Lets in only what is needed; metrics are for namespaces with the label metrics=enabled.",
            {"networkPolicy": {"enabled": True}},
        ),
        ("For two replicas and more.", {"podDisruptionBudget": {"enabled": False}}),
        ("Of the ServiceAccount.", {"serviceAccount": {"annotations": {}}}),
        ("debug, info, warning or error.", {"logLevel": "info"}),
        ("More flags of pilotage run, and more environment variables.", {"extraArgs": [], "env": []}),
        ("Of the Pods.", {"podAnnotations": {}, "nodeSelector": {}, "tolerations": [], "affinity": {}}),
    ]
    left_out = set()
    if not settings.has_webhooks:
        left_out.add("webhooks")
    if not settings.metrics_port:
        left_out.add("metrics")
    if settings.has_own_manager:  # it has its options in its source
        left_out |= {"leaderElection", "namespaces", "logLevel"}
    return "".join(f"# {comment}\n{yamltext.write(each)}" for comment, each in parts if not left_out & set(each))


class _Chart:
    """The templates, one method for each file."""

    def __init__(self, settings: InstallationSettings) -> None:
        templates = self._templates = Templates()
        self._settings = settings
        namespace = templates.inline("$.Release.Namespace")
        lease = settings.installation.lease_name
        if not settings.has_own_manager:
            lease = templates.inline("$.Values.leaderElection.id")
        installation = replace(settings.installation, namespace=namespace, lease=lease, namespaces=())
        self._settings = replace(settings, installation=installation)

    def definitions(self) -> str:
        found = objects.definitions(self._settings)
        for document in found:
            converted = "webhook" in document["spec"].get("conversion", {})
            own = document["metadata"].pop("annotations", {})
            document["metadata"]["annotations"] = self._annotations(own, converted=converted)
        return when("$.Values.crds.install", self._templates.text(found)) if found else ""

    def service_account(self) -> str:
        document = objects.service_account(self._settings)
        document["metadata"]["annotations"] = self._templates.given("$.Values.serviceAccount.annotations")
        return self._templates.text([document])

    def roles(self) -> str:
        """A ClusterRole, or Roles in the namespaces of the values."""
        whole = self._roles(self._settings.installation.namespaces if self._settings.has_own_manager else ())
        text = self._templates.text(_of(whole, MANAGER, self._settings))
        if not self._settings.has_own_manager:
            one = self._roles((self._templates.inline("."),))
            manager = _of(one, MANAGER, self._settings)
            cluster = self._templates.text([each for each in manager if "namespace" not in each["metadata"]])
            each = self._templates.text([each for each in manager if "namespace" in each["metadata"]])
            text = (
                "{{- if $.Values.namespaces }}\n"
                f"{cluster}{{{{- range $.Values.namespaces }}}}\n{each}{{{{- end }}}}\n"
                f"{{{{- else }}}}\n{text}{{{{- end }}}}\n"
            )
        leads = self._templates.text(_of(whole, LEADER_ELECTION, self._settings))
        if leads and not self._settings.has_own_manager:
            leads = when("$.Values.leaderElection.enabled", leads)
        webhook = self._templates.text(_of(whole, WEBHOOK, self._settings))
        condition = f"and $.Values.webhooks.enabled (not {_CERT_MANAGER})"
        return text + leads + (when(condition, webhook) if webhook else "")

    def services(self) -> str:
        text = ""
        for document in objects.services(self._settings):
            if document["metadata"]["name"].endswith("-metrics"):
                document["spec"]["ports"][0]["port"] = self._templates.inline("$.Values.metrics.port")
                text += when("$.Values.metrics.enabled", self._templates.text([document]))
            else:
                text += when("$.Values.webhooks.enabled", self._templates.text([document]))
        return text

    def deployment(self) -> str:
        """The Deployment, with the values in the places where they belong."""
        new = self._templates
        document = objects.deployment(self._settings)
        document["spec"]["replicas"] = new.inline("$.Values.replicas")
        template = document["spec"]["template"]
        template["metadata"]["annotations"] = new.given("$.Values.podAnnotations")
        pod = template["spec"]
        for name in ("imagePullSecrets", "nodeSelector", "tolerations", "affinity"):
            pod[name] = new.given(f"$.Values.{name}")
        container = pod["containers"][0]
        image = 'printf "%s:%s" $.Values.image.repository ($.Values.image.tag | toString) | quote'
        container["image"] = new.inline(image)
        container["imagePullPolicy"] = new.inline("$.Values.image.pullPolicy")
        container["args"] = self._arguments()
        container["env"] = new.given("$.Values.env")
        container["resources"] = new.values("$.Values.resources")
        container["ports"] = [self._port(port) for port in container["ports"]]
        if self._settings.has_webhooks:
            volume, mount, _ = objects.certificate_mount(self._settings)
            pod["volumes"].append(new.block(_item(volume, _CERT_MANAGER)))
            container["volumeMounts"].append(new.block(_item(mount, _CERT_MANAGER)))
        return new.text([document])

    def network_policy(self) -> str:
        document = objects.network_policy(self._settings)
        if "ingress" in document["spec"]:
            document["spec"]["ingress"] = [self._ingress(rule) for rule in document["spec"]["ingress"]]
        return when("$.Values.networkPolicy.enabled", self._templates.text([document]))

    def webhooks(self) -> str:
        if not self._settings.has_webhooks:
            return ""
        found = objects.webhooks(self._settings)
        for document in found:
            document["metadata"]["annotations"] = self._annotations({}, kept=False, converted=True)
        issued = when(_CERT_MANAGER, self._templates.text(objects.certificates(self._settings)))
        return when("$.Values.webhooks.enabled", self._templates.text(found) + issued)

    def service_monitor(self) -> str:
        if not self._settings.metrics_port:
            return ""
        document = objects.service_monitor(self._settings)
        lines = [f"  {key}: {value}" for key, value in self._settings.labels.items()]
        lines.append("{{- with $.Values.metrics.serviceMonitor.labels }}\n{{- toYaml . | nindent INDENT }}\n{{- end }}")
        document["metadata"]["labels"] = self._templates.block("\n".join(["KEY:", *lines]))
        condition = "and $.Values.metrics.enabled $.Values.metrics.serviceMonitor.enabled"
        return when(condition, self._templates.text([document]))

    def budget(self) -> str:
        return self._templates.text([objects.disruption_budget(self._settings)])

    def _roles(self, namespaces: tuple[str, ...]) -> list[Document]:
        installation = replace(self._settings.installation, namespaces=namespaces)
        granted = [each for each in self._settings.grants if each.reason != "leader election"]
        if self._settings.installation.leader_election or not self._settings.has_own_manager:
            granted += lease_grants(installation.lease_name)
        return [objects.labelled(each, self._settings) for each in role_objects(granted, installation)]

    def _arguments(self) -> list[str]:
        new = self._templates
        extra = new.block("{{- with $.Values.extraArgs }}\n{{- toYaml . | nindent ITEMS }}\n{{- end }}")
        if self._settings.has_own_manager:
            return [*self._settings.arguments, extra]
        lead = "- --leader-elect\n- --leader-election-id={{ $.Values.leaderElection.id }}"
        conditional = [
            ("$.Values.leaderElection.enabled", lead),
            ("$.Values.namespaces", '- --namespace={{ join "," $.Values.namespaces }}'),
            *(("$.Values.webhooks.enabled", f"- {flag}") for flag in self._settings.webhook_flags),
            ("$.Values.metrics.enabled", "- --metrics-bind-address=:{{ $.Values.metrics.port }}"),
        ]
        last = [('ne $.Values.logLevel "info"', "- --log-level={{ $.Values.logLevel }}")]
        if self._settings.has_webhooks:
            flag = objects.certificate_mount(self._settings)[2]
            last += [(_CERT_MANAGER, f"- {flag}"), ("not $.Values.webhooks.enabled", "- --webhook-bind-address=0")]
        health = f"--health-probe-bind-address=:{self._settings.health_port}"
        before = [new.block(when(condition, f"{text}\n")) for condition, text in conditional]
        after = [new.block(when(condition, f"{text}\n")) for condition, text in last]
        return [self._settings.target, *before, health, "--log-format=json", *after, extra]

    def _ingress(self, rule: Document) -> str:
        if "from" not in rule:
            return self._templates.block(_item(rule, "$.Values.webhooks.enabled"))
        ports = [{**port, "port": "{{ $.Values.metrics.port }}"} for port in rule["ports"]]
        return self._templates.block(_item({**rule, "ports": ports}, "$.Values.metrics.enabled"))

    def _port(self, port: Document) -> Any:
        condition = {"metrics": "$.Values.metrics.enabled", "webhooks": "$.Values.webhooks.enabled"}.get(port["name"])
        if condition is None:
            return port
        number = "{{ $.Values.metrics.port }}" if port["name"] == "metrics" else port["containerPort"]
        return self._templates.block(_item({**port, "containerPort": number}, condition))

    def _annotations(self, own: Document, *, kept: bool = True, converted: bool = False) -> str:
        """The annotations of an object: its own, Helm's annotations, and cert-manager's annotation, each where it is
        wanted."""
        reference = (
            f"cert-manager.io/inject-ca-from: {{{{ $.Release.Namespace }}}}/{self._settings.prefix}{CERTIFICATE}"
        )
        conditional = [("$.Values.crds.keep", _KEEP)] if kept else []
        if converted and self._settings.has_webhooks:
            conditional.append((_CERT_MANAGER, reference))
        lines = [f"  {line}" for line in yamltext.write(own).splitlines()] if own else []
        lines += [f"{{{{- if {condition} }}}}\n  {line}\n{{{{- end }}}}" for condition, line in conditional]
        text = "\n".join(["KEY:", *lines])
        if own:
            return self._templates.block(text)
        either = " ".join(["or", *(condition for condition, _ in conditional)])
        return self._templates.block(f"{{{{- if {either} }}}}\n{text}\n{{{{- end }}}}")


def _of(documents: list[Document], role: str, settings: InstallationSettings) -> list[Document]:
    return [each for each in documents if each["metadata"]["name"] == f"{settings.name}-{role}"]


def _item(item: Document, condition: str) -> str:
    """An item of a list that depends on the values."""
    lines = [line.replace("'{{", "{{").replace("}}'", "}}") for line in yamltext.write([item]).splitlines()]
    return when(condition, "\n".join(lines) + "\n")
