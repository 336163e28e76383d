"""Admission policies: CEL expressions that refuse or change what requests write."""
