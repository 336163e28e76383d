"""Services: their defaults, what they may be, and which addresses and ports they need."""
