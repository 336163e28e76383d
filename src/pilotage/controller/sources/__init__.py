"""Sources of a controller: where its requests come from, and the tasks that run them."""
