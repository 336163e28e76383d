"""The kinds of the group apps, which run pods from a template; so do ReplicationControllers, of the core group."""
