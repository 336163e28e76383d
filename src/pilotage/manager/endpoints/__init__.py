"""The manager's HTTP endpoints: metrics, health probes, readiness checks, debug."""
