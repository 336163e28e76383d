"""Programs of users, written to a folder, and the command run on them."""

from __future__ import annotations

import textwrap
from pathlib import Path

OPERATOR = """
import pilotage as pt
from pilotage.types.apps.v1 import Deployment
from pilotage.types.autoscaling.v1 import Scale
from pilotage.types.core.v1 import ConfigMap, Node, Pod, Secret, Service

JOB = pt.GroupVersionKind("batch", "v1", "Job")


class GreetingSpec(pt.Model):
    text: str = "hello"


@pt.resource(group="greetings.example.com", version="v1", status=True)
class Greeting(pt.Resource):
    'Says {{ text }} again and again.'

    spec: GreetingSpec
    status: dict[str, str] | None = None


def config_map_of(greeting: Greeting):
    name = pt.ObjectMeta(name=greeting.metadata.name, namespace=greeting.metadata.namespace)
    return ConfigMap(metadata=name, data={"text": greeting.spec.text})


class GreetingReconciler:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client
        self.reader = manager.api_reader
        self.events = manager.event_recorder_for("greetings")

    async def reconcile(self, request: pt.Request) -> None:
        greeting = await self.client.get(Greeting, request)
        await pt.create_or_patch(self.client, config_map_of(greeting), owner=greeting)
        await self.client.patch_status(greeting, {"status": {"seen": "yes"}})
        self.events.event(greeting, "Normal", "Greeted", greeting.spec.text)

    def setup_with_manager(self, manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Greeting).owns(ConfigMap).complete(self)


def setup(manager: pt.Manager) -> None:
    GreetingReconciler(manager).setup_with_manager(manager)


async def main() -> None:  # of a program of its own: not what `pilotage run` runs
    async with pt.Manager(pt.Cluster.embedded()) as manager:
        await manager.client.delete(Secret, "secret", namespace="default")
"""

WEBHOOKS = """

class Defaults:
    async def default(self, greeting: Greeting) -> None: ...


def add_webhooks(manager: pt.Manager) -> None:
    pt.WebhookBuilder(manager).for_(Greeting).with_defaulter(Defaults()).complete()


def with_webhooks(manager: pt.Manager) -> None:
    setup(manager)
    add_webhooks(manager)
"""


def program(folder: Path, text: str = OPERATOR, name: str = "operator_.py") -> str:
    """Write a program and return its target."""
    (folder / name).write_text(textwrap.dedent(text))
    return str(folder / name)


def reconciling(body: str, more: str = "") -> str:
    """The program with another body of its reconciler."""
    head, rest = OPERATOR.split("        greeting = await self.client.get", 1)
    tail = rest.split("    def setup_with_manager", 1)[1]
    indented = textwrap.indent(textwrap.dedent(body).strip(), "        ")
    return f"{head}{indented}\n\n    def setup_with_manager{tail}\n{textwrap.dedent(more)}"
