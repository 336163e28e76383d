"""Sources of a controller: what its requests come from, and the tasks that run them."""
