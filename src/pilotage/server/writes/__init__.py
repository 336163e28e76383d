"""The steps that all writes share: defaults, validation, allocation, deletion, fencing, commit."""
