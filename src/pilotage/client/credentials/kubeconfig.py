"""Kubeconfig files: merged, checked and converted to a Config. Every error names the file and the entry.

Where several files have the same entry, the first wins. Paths are relative to the file that has them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pilotage.client.config import Config
from pilotage.client.credentials.credentials import (
    ClientCertificate,
    Credentials,
    Material,
    StaticCredentials,
    TokenFile,
    read_file,
)
from pilotage.client.credentials.execplugin import ExecCredentials, ExecPlugin, decoded
from pilotage.errors import DecodeError, InvalidDefinition
from pilotage.meta.text import yamltext

_INFO_FIELDS = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url", "certificate-authority-data")


@dataclass(frozen=True, slots=True)
class NamedEntry:
    """A named cluster, user or context of a file, and where it is."""

    where: str
    folder: Path
    content: Mapping[str, Any] = field(repr=False)

    def text(self, key: str) -> str:
        value = self.content.get(key)
        if value is None or isinstance(value, str):
            return value or ""
        raise self.wrong(key, f"must be a text, not {type(value).__name__}")

    def flag(self, key: str) -> bool:
        value = self.content.get(key)
        if value is None or isinstance(value, bool):
            return bool(value)
        raise self.wrong(key, f"must be true or false, not {type(value).__name__}")

    def path(self, key: str) -> str:
        """A path, relative to the folder of the file; it need not exist yet."""
        text = self.text(key)
        return str(self.folder / text) if text else ""

    def data(self, key: str) -> bytes:
        """Bytes that are written as base64."""
        try:
            return decoded(self.text(key))
        except ValueError as error:
            raise self.wrong(key, str(error)) from error

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.content.get(key) or []
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(value)
        raise self.wrong(key, "must be a list of texts")

    def wrong(self, key: str, why: str) -> InvalidDefinition:
        return InvalidDefinition(f"{self.where}: {key}: {why}")


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """One or several files, merged."""

    files: tuple[str, ...]
    current_context: str = ""
    clusters: dict[str, NamedEntry] = field(default_factory=dict)
    users: dict[str, NamedEntry] = field(default_factory=dict)
    contexts: dict[str, NamedEntry] = field(default_factory=dict)

    @classmethod
    def load(cls, *paths: str, optional: bool = False) -> Kubeconfig:
        """Read files. With `optional`, missing files are skipped, as long as one file exists."""
        there = [path for path in paths if not optional or Path(path).exists()]
        if not there:
            raise InvalidDefinition(f"KUBECONFIG names {', '.join(paths)}, which does not exist: correct or unset it")
        return cls.merged(*(cls.read(path) for path in there))

    @classmethod
    def read(cls, path: str) -> Kubeconfig:
        """Read one file."""
        try:
            document = yamltext.read(read_file(path), aliases=True)
        except OSError as error:
            reason = error.strerror or error
            raise InvalidDefinition(f"the kubeconfig {path} cannot be read: {reason}") from error
        except (ValueError, DecodeError) as error:
            raise InvalidDefinition(f"the kubeconfig {path} cannot be read: {error}") from error
        if document is None:
            document = {}
        if not isinstance(document, dict):
            raise InvalidDefinition(
                f"the kubeconfig {path} is not a kubeconfig: it must be a mapping with clusters, users and contexts"
            )
        current = document.get("current-context")
        return cls(
            (path,),
            current if isinstance(current, str) else "",
            _entries(path, document, "clusters", "cluster"),
            _entries(path, document, "users", "user"),
            _entries(path, document, "contexts", "context"),
        )

    @classmethod
    def merged(cls, *parts: Kubeconfig) -> Kubeconfig:
        """Merge files: for each name, and for the current context, the first file that has it wins."""
        together = cls(tuple(file for part in parts for file in part.files))
        for part in reversed(parts):
            together.clusters.update(part.clusters)
            together.users.update(part.users)
            together.contexts.update(part.contexts)
        current = next((part.current_context for part in parts if part.current_context), "")
        return cls(together.files, current, together.clusters, together.users, together.contexts)

    def config(self, context: str = "") -> Config:
        """How to reach the cluster of a context; without a name, of the current one."""
        name = context or self.current_context
        if not name:
            raise self._missing("no current-context, and none was named", "contexts", self.contexts)
        chosen = self._entry("contexts", self.contexts, name, "asked for" if context else "the current-context")
        cluster = self._entry("clusters", self.clusters, chosen.text("cluster"), f"of context {name!r}")
        user = chosen.text("user")
        person = self._entry("users", self.users, user, f"of context {name!r}") if user else None
        server = cluster.text("server")
        if not server:
            raise cluster.wrong("server", "is missing: set the URL of the API server, such as https://127.0.0.1:6443")
        return Config(
            url=server,
            credentials=_credentials(person, cluster) if person is not None else StaticCredentials(Material()),
            ca_file=cluster.path("certificate-authority"),
            ca_data=cluster.data("certificate-authority-data"),
            insecure_skip_tls_verify=cluster.flag("insecure-skip-tls-verify"),
            tls_server_name=cluster.text("tls-server-name"),
            proxy_url=cluster.text("proxy-url"),
            headers=_impersonation(person) if person is not None else (),
            namespace=chosen.text("namespace"),
            source=f"{chosen.where}",
        )

    def _entry(self, plural: str, entries: Mapping[str, NamedEntry], name: str, why: str) -> NamedEntry:
        if name not in entries:
            raise self._missing(f"no {plural[:-1]} {name!r} ({why})", plural, entries)
        return entries[name]

    def _missing(self, what: str, plural: str, entries: Mapping[str, NamedEntry]) -> InvalidDefinition:
        known = ", ".join(sorted(entries)) or "none"
        return InvalidDefinition(f"kubeconfig {', '.join(self.files)}: {what}; its {plural} are: {known}")


def _entries(path: str, document: Mapping[str, Any], plural: str, singular: str) -> dict[str, NamedEntry]:
    items = document.get(plural) or []
    if not isinstance(items, list):
        raise InvalidDefinition(f"kubeconfig {path}: {plural} must be a list")
    found: dict[str, NamedEntry] = {}
    for number, item in enumerate(items):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not name:
            raise InvalidDefinition(f"kubeconfig {path}: {plural}[{number}] has no name")
        if name in found:
            raise InvalidDefinition(f"kubeconfig {path}: two {plural} are named {name!r}: rename or remove one")
        content = item.get(singular)
        if content is not None and not isinstance(content, dict):
            raise InvalidDefinition(f"kubeconfig {path}: {singular} {name!r}: {singular} must be a mapping")
        found[name] = NamedEntry(f"kubeconfig {path}: {singular} {name!r}", Path(path).absolute().parent, content or {})
    return found


def _credentials(user: NamedEntry, cluster: NamedEntry) -> Credentials:
    if user.content.get("username") or user.content.get("password"):
        raise user.wrong(
            "username", "basic authentication was removed from Kubernetes: use a token or a client certificate"
        )
    if user.content.get("auth-provider"):
        raise user.wrong(
            "auth-provider", "was removed from Kubernetes: use an exec plugin (kubelogin, gke-gcloud-auth-plugin)"
        )
    certificate = _certificate(user)
    if (plugin := user.content.get("exec")) is not None:
        return _plugin(user, cluster, plugin, certificate)
    if token_file := user.path("tokenFile"):
        return TokenFile(token_file, certificate=certificate, fallback=user.text("token"))
    return StaticCredentials(Material(user.text("token"), certificate))


def _certificate(user: NamedEntry) -> ClientCertificate | None:
    cert_file, key_file = user.path("client-certificate"), user.path("client-key")
    cert_data, key_data = user.data("client-certificate-data"), user.data("client-key-data")
    if bool(cert_file or cert_data) != bool(key_file or key_data):
        raise user.wrong("client-certificate", "and client-key must be set together, and only one of them is set")
    if not cert_file and not cert_data:
        return None
    return ClientCertificate(cert_file, key_file, cert_data, key_data)


def _plugin(
    user: NamedEntry, cluster: NamedEntry, content: Any, certificate: ClientCertificate | None
) -> ExecCredentials:
    if certificate is not None or user.text("token") or user.text("tokenFile"):
        raise user.wrong("exec", "is set together with other credentials: use one of them")
    if not isinstance(content, dict):
        raise user.wrong("exec", "must be a mapping")
    entry = NamedEntry(f"{user.where}: exec", user.folder, content)
    command = entry.text("command")
    if "/" in command:
        command = str(user.folder / command)
    info = _information(cluster) if entry.flag("provideClusterInfo") else None
    return ExecCredentials(
        ExecPlugin(
            command,
            entry.texts("args"),
            _variables(entry),
            entry.text("apiVersion"),
            entry.text("installHint"),
            entry.text("interactiveMode"),
            info,
            user.where,
        )
    )


def _information(cluster: NamedEntry) -> dict[str, Any]:
    """The cluster information for a plugin: a CA is passed as data, because a relative path means nothing to it."""
    info = {key: cluster.content[key] for key in _INFO_FIELDS if cluster.content.get(key)}
    if path := cluster.path("certificate-authority"):
        try:
            info.setdefault("certificate-authority-data", base64.b64encode(read_file(path)).decode())
        except (OSError, ValueError) as error:
            raise cluster.wrong("certificate-authority", f"cannot be read: {error}") from error
    return info


def _variables(entry: NamedEntry) -> tuple[tuple[str, str], ...]:
    items = entry.content.get("env") or []
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise entry.wrong("env", "must be a list of names and values")
    named = [NamedEntry(f"{entry.where}: env[{number}]", entry.folder, item) for number, item in enumerate(items)]
    return tuple((item.text("name"), item.text("value")) for item in named)


def _impersonation(user: NamedEntry) -> tuple[tuple[str, str], ...]:
    headers = [("impersonate-user", user.text("as")), ("impersonate-uid", user.text("as-uid"))]
    headers += [("impersonate-group", group) for group in user.texts("as-groups")]
    extra = user.content.get("as-user-extra") or {}
    if not isinstance(extra, dict):
        raise user.wrong("as-user-extra", "must be a mapping of names to lists")
    entry = NamedEntry(f"{user.where}: as-user-extra", user.folder, extra)
    headers += [(f"impersonate-extra-{name.lower()}", value) for name in extra for value in entry.texts(name)]
    return tuple((name, value) for name, value in headers if value)
