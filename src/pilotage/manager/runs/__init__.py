"""Runs that end: with which objects they begin, when nothing is left to do, and what the next run continues with."""
