"""Reconciles as lines on a terminal, while they happen: `pilotage run --explain`."""
