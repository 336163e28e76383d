"""The parts of a server that do not depend on its protocol: accept, own tasks, check deadlines, drain."""
