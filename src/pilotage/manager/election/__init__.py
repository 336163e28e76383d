"""Leader election: the elector, the candidate of a manager, the lease that replicas share, and coordinated election."""
