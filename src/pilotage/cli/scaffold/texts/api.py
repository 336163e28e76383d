"""The module of a version, with its kinds."""

from __future__ import annotations

from dataclasses import dataclass

from pilotage.cli.scaffold.imports import import_block
from pilotage.cli.scaffold.layout import ProjectKind
from pilotage.cli.scaffold.lines import bracketed
from pilotage.meta.models import plural_of


@dataclass(frozen=True, slots=True)
class NewKind:
    """A kind to add."""

    kind: str
    group: str
    version: str
    namespaced: bool = True
    plural: str = ""
    short_names: tuple[str, ...] = ()

    @property
    def classes(self) -> list[str]:
        return [f"{self.kind}Spec", f"{self.kind}Status", self.kind]


def definitions(new: NewKind) -> str:
    """The classes of a kind."""
    options = [f'group="{new.group}"', f'version="{new.version}"']
    if not new.namespaced:
        options.append('scope="Cluster"')
    if new.plural and new.plural != plural_of(new.kind):
        options.append(f'plural="{new.plural}"')
    if new.short_names:
        names = [f'"{name}"' for name in new.short_names]
        options.append(bracketed("short_names=[", names, "]", 4).lstrip())
    lines = "".join(f"    {option},\n" for option in [*options, "status=True"])
    return f'''class {new.kind}Spec(pt.Model):
    """The desired state, which users write."""

    message: str = "hello"
    """An example of a field. Replace it by your own."""


class {new.kind}Status(pt.Model):
    """The observed state, which the controller writes."""

    conditions: list[pt.Condition] = []


@pt.resource(
{lines}    columns=[
        pt.Column("Ready", '.status.conditions[?(@.type=="Ready")].status'),
        pt.Column("Age", ".metadata.creationTimestamp"),
    ],
)
class {new.kind}(pt.Resource):
    spec: {new.kind}Spec
    status: {new.kind}Status | None = None
'''


def sample(new: NewKind) -> str:
    """An object for `kubectl apply`."""
    namespace = "  namespace: default\n" if new.namespaced else ""
    return f"""apiVersion: {new.group}/{new.version}
kind: {new.kind}
metadata:
  name: example
{namespace}spec:
  message: hello
"""


def conversion_test(hub: ProjectKind, package: str, version: str) -> str:
    """A test that no conversion loses anything. `package` has the module of the new version."""
    where, _, module = hub.module.rpartition(".")
    imported = import_block([f"from {where} import {module}", f"from {package} import {version}"], package)
    return f'''"""{hub.kind} objects can be converted from each version to each other and back."""

from pilotage.testing.conversion import check_round_trips

{imported}

def test_conversions_lose_nothing() -> None:
    check_round_trips({module}.{hub.class_name}, {version}.{hub.class_name})
'''
