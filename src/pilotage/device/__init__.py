"""The Device API: the GPUs of a node over gRPC on a Unix socket; its server, its client, its providers."""
