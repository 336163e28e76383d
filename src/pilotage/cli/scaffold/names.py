"""Names that follow from the name of a kind: files, variables, classes."""

from __future__ import annotations

import builtins
import keyword
import re
import sys
from dataclasses import dataclass

from pilotage.kit.console.errors import CommandError
from pilotage.meta.validation.names import dns_1035_label, dns_1123_label, dns_1123_subdomain

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z0-9]+")
_VERSION = re.compile(r"v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?")
_LONGEST = 16
"""The longest variable that is named after a kind."""
_USED = {"client", "created", "env", "found", "manager", "new", "old", "pt", "request", "self", "status", "builder"}
"""Names that the templates use for something else."""


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a kind in Python: `GPUPool` is in `gpu_pool.py`."""

    kind: str

    @property
    def words(self) -> list[str]:
        return [word.lower() for word in _WORD.findall(self.kind)]

    @property
    def module(self) -> str:
        """The name of its modules."""
        name = "_".join(self.words)
        return f"{name}_" if keyword.iskeyword(name) else name

    @property
    def variable(self) -> str:
        """A variable for one object."""
        name = "_".join(self.words)
        if len(name) > _LONGEST:
            return "obj"
        return f"{name}_" if keyword.iskeyword(name) or name in _USED or hasattr(builtins, name) else name

    @property
    def reconciler(self) -> str:
        return f"{self.kind}Reconciler"

    @property
    def webhook(self) -> str:
        return f"{self.kind}Webhook"


def check_kind(kind: str) -> str:
    """The name of a new kind. Raises CommandError."""
    if not re.fullmatch("[A-Z][A-Za-z0-9]*", kind) or keyword.iskeyword(kind):
        raise CommandError(f"{kind!r} is not a kind: write it in CamelCase, such as Guestbook or GPUPool")
    if dns_1035_label(f"{kind}List".lower()):
        raise CommandError(f"the kind {kind!r} is too long: it may have 59 characters")
    return kind


def check_version(version: str) -> str:
    """The version of a kind. Raises CommandError."""
    if not _VERSION.fullmatch(version):
        raise CommandError(f"{version!r} is not a version: write v1, v1beta1, v2alpha3 or the like")
    return version


def check_group(group: str) -> str:
    """An API group. Raises CommandError."""
    if "." not in group or dns_1123_subdomain(group):
        raise CommandError(f"{group!r} is not an API group: use a domain of your own, such as apps.example.com")
    if group.endswith(("k8s.io", "kubernetes.io")):
        raise CommandError(f"the group {group!r} belongs to the Kubernetes project: use a domain of your own")
    return group


def check_resource_name(what: str, name: str) -> str:
    """A plural or a short name. Raises CommandError."""
    if dns_1035_label(name):
        raise CommandError(f"the {what} {name!r} is not a DNS label: use lower-case letters, digits and '-'")
    return name


def check_project_name(name: str) -> str:
    """The name of a project, which objects on a cluster are named after. Raises CommandError."""
    if dns_1123_label(name) or len(name) > 40:
        raise CommandError(
            f"{name!r} cannot be the name of a project: use at most 40 lower-case letters, digits and '-'; "
            "give one with --name"
        )
    return name


def check_package(package: str) -> str:
    """The name of a Python package. Raises CommandError."""
    if not package.isidentifier() or keyword.iskeyword(package) or not package.isascii():
        raise CommandError(f"{package!r} cannot be the name of a package: give an identifier with --package")
    if package in sys.stdlib_module_names or package in ("pilotage", "test", "tests", "src"):
        raise CommandError(f"{package!r} is the name of another module: give another one with --package")
    return package
