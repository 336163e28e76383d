"""A webhook server in a process of its own, so that its CPU time is its own: prints its port and CA bundle as JSON."""

from __future__ import annotations

import asyncio
import base64
import json

import pilotage as pt
from bench.webhooks.reviews import declare
from pilotage.webhook.declarations import VALIDATING


async def main() -> None:
    server = pt.webhook.WebhookServer(pt.webhook.WebhookServerOptions(host="127.0.0.1", port=0, serve=True))
    async with pt.Manager(pt.Cluster.embedded(), pt.ManagerOptions(webhook_server=server)) as manager:
        declare(manager)
        running = asyncio.create_task(manager.start())
        await manager.ready()
        (configuration,) = await manager.cluster.client.list(VALIDATING)
        bundle = base64.b64decode(configuration["webhooks"][0]["clientConfig"]["caBundle"])
        print(json.dumps({"port": server.address[1], "bundle": bundle.decode()}), flush=True)
        await running


asyncio.run(main())
