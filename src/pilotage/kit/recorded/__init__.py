"""What the reconcilers of a tool left behind for its user: a log and a history, in files beside the storage."""
