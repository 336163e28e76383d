"""HTTP/1.1 on asyncio: a strict server, a small client, TLS and limits. No Kubernetes in it.

`server.serve` answers requests with a handler; `client.Client` sends them. `messages` has the requests and responses,
`limits` the limits of sizes, numbers and times.
"""
