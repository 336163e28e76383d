"""The audit log: which requests are logged, by a policy, and with which content."""
