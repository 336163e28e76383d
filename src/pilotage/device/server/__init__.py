"""The Device API's server: the API server's registry for one kind, what providers add to it, and its gRPC face."""
