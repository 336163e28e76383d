"""From a kind to its class (the scheme), and to the resource that serves it (the REST mapper)."""
