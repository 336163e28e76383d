"""The audit log: which requests it has, by a policy, and what it says of them."""
