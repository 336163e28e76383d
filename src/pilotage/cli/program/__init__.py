"""The program of a user, as commands see it: where it is, its modules, its settings and what it declares."""
