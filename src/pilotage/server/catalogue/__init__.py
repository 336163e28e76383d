"""Which resources are served: built in and by definitions, their paths and their actions."""
