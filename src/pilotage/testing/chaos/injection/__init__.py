"""Where faults enter a run: requests, lists and watches, the storage, and the server of each life."""
