"""CEL in admission: match conditions of webhooks, and what policies validate and change."""
