"""Reconcilers: every form (object or function, async or not) is checked and converted to one."""
