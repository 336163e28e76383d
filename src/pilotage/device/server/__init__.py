"""The Device API's server: the API server's registry for one kind, conditions by provider, and the gRPC services."""
