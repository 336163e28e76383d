"""gRPC over HTTP/2 on asyncio: the server's listener and the client's channel. No other package imports the HPACK
library."""
