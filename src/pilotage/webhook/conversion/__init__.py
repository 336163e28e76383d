"""Conversion between the versions of a kind: functions to and from a hub, the webhook at `/convert`, and migration."""
