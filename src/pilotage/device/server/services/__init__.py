"""The gRPC services of the Device API server: GPUs, providers, telemetry and health."""
