"""HTTP/1.1 on asyncio: a strict server, a small client, TLS and limits. No Kubernetes in it.

`server.serve` answers requests with a handler; `client.Client` sends them. What goes through is in `messages`,
how much and how long in `limits`.
"""
