"""Shards: several replicas work at once, each key with exactly one of them."""
