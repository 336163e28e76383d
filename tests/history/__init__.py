"""Tests of the history of reconciles."""
