"""Documents as text: strict JSON, JSON as Go reads it, YAML; and values as Go prints them."""
