"""Services: their defaults, their validation, and the addresses and ports that they need."""
