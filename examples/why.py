"""Why did this reconcile run, and what did it change? The history of the manager answers.

    python why.py

Prints the reconciles of one object: what caused each, what it read and wrote, field by field, and its result.
"""

import asyncio

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap


class GreetingSpec(pt.Model):
    text: str


@pt.resource(group="why.pilotage.dev", version="v1")
class Greeting(pt.Resource):
    spec: GreetingSpec


async def main() -> None:
    async with pt.Manager(pt.Cluster.embedded("memory:")) as manager:
        client = manager.cluster.client.with_namespace("default")
        await manager.cluster.install(Greeting)

        async def reconcile(request: pt.Request) -> None:
            greeting = await manager.client.get(Greeting, request)
            meta = pt.ObjectMeta(name=request.name, namespace=request.namespace)
            config = ConfigMap(metadata=meta, data={"text": greeting.spec.text})
            await pt.create_or_patch(manager.client, config, owner=greeting)

        pt.ControllerBuilder(manager).for_(Greeting).owns(ConfigMap).complete(reconcile)
        await client.create(Greeting(metadata=pt.ObjectMeta(name="hello"), spec=GreetingSpec(text="hello")))
        await manager.run_until_idle(timeout=10)
        await client.patch(Greeting, {"spec": {"text": "bye"}}, name="hello")
        await manager.run_until_idle(timeout=10)

        runs = manager.history.reconciles(Greeting, "hello", namespace="default")  # oldest first
        for run in runs:
            print(run)  # a few lines each: because …, read …, wrote …, result

        changed = next(run for run in runs if any("bye" in str(cause) for cause in run.causes))
        assert [str(change) for cause in changed.causes for change in cause.changes] == ["spec.text: 'hello' → 'bye'"]
        (write,) = changed.writes
        assert (write.verb, write.kind.kind, write.name) == ("patch", "ConfigMap", "hello")
        assert [str(change) for change in write.changes] == ["data.text: 'hello' → 'bye'"]
        assert changed.controller == "greeting" and changed.error is None and changed.seconds >= 0
        after = runs[runs.index(changed) + 1]  # the event of that write: nothing was left to do
        assert after.causes[0].write == write and not after.writes


if __name__ == "__main__":
    asyncio.run(main())
