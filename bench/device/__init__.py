"""`make bench-device`: the Device API under load, many watchers, its start and its memory."""
