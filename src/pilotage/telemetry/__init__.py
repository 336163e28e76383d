"""The structured logger, and a small registry of metrics."""
