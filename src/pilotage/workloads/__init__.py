"""The workload controllers of Kubernetes, simulated nodes and Pods."""
