"""List a collection once, then watch from that version. One task writes, another watches.

python watch_changes.py
"""

import asyncio

import pilotage as pt
from pilotage.types.core.v1 import ConfigMap


async def follow(client: pt.Client, listed: asyncio.Event) -> None:
    """Keep a copy of all ConfigMaps up to date, until the one named `end` is created."""
    found = await client.list(ConfigMap)
    picture = {item.metadata.name: item.data for item in found}
    print(f"listed at version {found.resource_version}: {picture}")
    listed.set()
    async with client.watch(ConfigMap, resource_version=found.resource_version) as events:
        async for event in events:
            name = event.header.name
            if event.type == "DELETED":
                picture.pop(name, None)
            else:
                picture[name] = event.object.data
            print(f"{event.type:8} {name:8} {picture}")
            if name == "end":
                return


async def change(client: pt.Client) -> None:
    colours = await client.get(ConfigMap, "colours")
    colours.data["sky"] = "blue"
    await client.update(colours)
    await client.create(ConfigMap(metadata=pt.ObjectMeta(name="shapes"), data={"sun": "round"}))
    await client.delete(ConfigMap, "colours")
    await client.create(ConfigMap(metadata=pt.ObjectMeta(name="end")))


async def main() -> None:
    async with pt.Cluster.embedded("memory:") as cluster, asyncio.TaskGroup() as tasks:
        client = cluster.client.with_namespace("default")
        await client.create(ConfigMap(metadata=pt.ObjectMeta(name="colours"), data={"grass": "green"}))
        listed = asyncio.Event()
        tasks.create_task(follow(client, listed))
        await listed.wait()
        await change(client)


if __name__ == "__main__":
    asyncio.run(main())
