"""The commands that print what reconcilers have recorded: `logs` and `why`."""
