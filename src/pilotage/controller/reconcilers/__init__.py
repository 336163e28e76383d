"""Reconcilers in all their forms, checked and converted to one."""
