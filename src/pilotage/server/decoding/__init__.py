"""The bodies of writes: read, checked and brought to the form of their kind, with the errors for what is wrong."""
