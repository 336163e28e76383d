"""gRPC over HTTP/2 on asyncio: the server's listener and the client's channel. Only here is HPACK's library named."""
