"""The routes of a command that opens a session: over a file without an event loop, and with one."""
