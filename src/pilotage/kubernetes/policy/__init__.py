"""The kinds of the group policy."""
