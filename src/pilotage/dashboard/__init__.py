"""The live page of a program: what its controllers do, and why. It reads a manager, its history and its caches."""
