"""Field sets, managed fields and server-side apply as pure functions over documents."""
