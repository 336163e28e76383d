"""How commands end: signals, what is waited for then, and the time until the process ends."""
