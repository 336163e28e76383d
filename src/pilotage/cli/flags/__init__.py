"""Flags of commands: their types, those that are the fields of a dataclass, those that choose where a command works."""
