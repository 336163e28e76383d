"""Runs that end by themselves: the objects that they begin with, when nothing is left to do, and what the next run
continues with."""
