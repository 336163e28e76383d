"""Nodes as controllers and the scheduler see them: on which of them a Pod may run."""
