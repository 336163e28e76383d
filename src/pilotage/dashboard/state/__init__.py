"""What is known of a program, without I/O: the facts of its objects, the figures of its runs, and both in the past."""
