"""A small operator as a user writes it, for the tests of `pilotage run`."""

from __future__ import annotations

from pathlib import Path

KIND = """
import pilotage as pt
from pilotage.types.core.v1 import ConfigMap


class GreetingSpec(pt.Model):
    text: str = "hello"


@pt.resource(group="greetings.pilotage.dev", version="v1")
class Greeting(pt.Resource):
    spec: GreetingSpec
"""
OPERATOR = (
    KIND
    + """

class GreetingReconciler:
    def __init__(self, manager: pt.Manager) -> None:
        self.client = manager.client

    async def reconcile(self, request: pt.Request) -> None:
        greeting = await self.client.get(Greeting, request)
        if greeting.spec.text == "bad":
            raise ValueError("the text is bad")
        meta = pt.ObjectMeta(name=request.name, namespace=request.namespace)
        await pt.create_or_patch(self.client, ConfigMap(metadata=meta, data={"text": greeting.spec.text}))
        print("greeted", request.name, flush=True)

    def setup_with_manager(self, manager: pt.Manager) -> None:
        pt.ControllerBuilder(manager).for_(Greeting).complete(self)
"""
)
OBJECT = """
apiVersion: greetings.pilotage.dev/v1
kind: Greeting
metadata:
  name: {name}
spec:
  text: {text}
"""


def write_operator(folder: Path, text: str = OPERATOR) -> Path:
    path = folder / "hello.py"
    path.write_text(text)
    return path


def write_object(folder: Path, name: str = "world", text: str = "hello") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(OBJECT.format(name=name, text=text))
    return path
