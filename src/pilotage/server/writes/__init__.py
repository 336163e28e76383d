"""The steps that all writes share: defaults, validation, allocation, fencing, commit."""
